"""Before a run folder is continued: it holds the same run, and that has something left to do."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

from ovplace.config.schema import RunConfig
from ovplace.core.result.parts import Limits
from ovplace.core.result.run_result import RunResult
from ovplace.errors import ConfigError, PlacementError, StoreError
from ovplace.session.model_fingerprint import fingerprint
from ovplace.store.atomic import delete_abandoned
from ovplace.store.run_db import RunStore
from ovplace.store.run_folder import RunFolder

_MAY_CHANGE = ("model", "cluster", "budget", "time_s", "require_gain", "rounds", "early_exit")
"""Settings that do not make it another run. A model may be called by another path: its fingerprint must be the same."""


def open_store(config: RunConfig, folder: RunFolder) -> RunStore:
    """Open the store of a run folder that is empty, or holds this run.

    Args:
        config: what is to be run.
        folder: where.

    Raises:
        StoreError: it cannot be written.
        ConfigError: it holds a run with other settings.
    """
    delete_abandoned(folder.path)
    if folder.has_begun:
        changed = _differences(folder.read_config(), config)
        if changed:
            raise ConfigError(
                f"'{folder}' holds another run ({', '.join(changed)} differ); choose another folder with -o, "
                "or delete it"
            )
    return folder.open_store()


def check_fingerprints(config: RunConfig, folder: RunFolder, store: RunStore) -> dict[str, str]:
    """Check that a run to be continued began with the same model and the same simulated machine.

    Args:
        config: what is to be run.
        folder: the run folder.
        store: its open store, which keeps the fingerprints under the keys of the returned mapping.

    Returns:
        The fingerprints of now: `source` of the model's files, `machine` of the simulated machine, empty for real
        devices, `site` for whether this machine measures or a fleet.

    Raises:
        ConfigError: one has changed since the run began.
    """
    source, machine = fingerprint(Path(config.search.model)), machine_digest(config)
    site = "a fleet" if config.search.cluster else "this machine"
    if folder.has_begun:
        if store.get("source") not in (None, source):
            raise _changed(config.search.model, folder)
        if store.get("machine") not in (None, machine):
            raise _changed(str(config.backend.get("machine", "the simulated machine")), folder)
        if store.get("site") not in (None, site):
            began = f"on {store.get('site')}, with{'out' if config.search.cluster else ''} --cluster"
            raise ConfigError(f"the run in '{folder}' began {began}; choose another folder with -o, or delete it")
    return {"source": source, "machine": machine, "site": site}


def limits_of(config: RunConfig) -> Limits:
    """Return the limits of a call."""
    return Limits(config.search.measurements, config.search.time_s, config.comparison.rounds)


def earlier_result(folder: RunFolder) -> RunResult | None:
    """Return the result of an earlier call; None where none has finished, or where its files are damaged."""
    with suppress(PlacementError, StoreError):
        folder.check_finished()
        return folder.read_result()
    return None


def finishing_limits(config: RunConfig, folder: RunFolder, result: RunResult) -> Limits | None:
    """Return the limits under which a run was finished that asked for no less; None where there is more to do.

    Args:
        config: what is to be run.
        folder: the run folder.
        result: of an earlier call.
    """
    last = folder.read_config()
    if last.search.early_exit and not config.search.early_exit and not result.search.trials:
        return None  # its search may have been skipped
    # Earlier versions kept the limits of the last call alone, finished or not.
    known = result.search.finished_under or (limits_of(last),)
    return next((limits for limits in known if limits.covers(limits_of(config))), None)


def machine_digest(config: RunConfig) -> str:
    """Return the fingerprint of the simulated machine of a run; empty for real devices."""
    backend = config.plugins.backend
    return str(backend.factory.digest(backend.settings))


def _changed(what: str, folder: RunFolder) -> ConfigError:
    return ConfigError(
        f"'{what}' has changed since the run in '{folder}' began, or is another one; "
        "choose another folder with -o, or delete it"
    )


def _differences(earlier: RunConfig, config: RunConfig) -> list[str]:
    old, new = asdict(earlier), asdict(config)
    return [
        f"{section}.{key}"
        for section in old
        for key in sorted({*old[section], *new[section]})
        if key not in _MAY_CHANGE and old[section].get(key) != new[section].get(key)
    ]
