"""Before a run folder is continued: it holds the same run, and that has something left to do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict
from typing import Any

from ovplace.atomic import delete_abandoned
from ovplace.config.schema import RunConfig
from ovplace.core.result.parts import Limits
from ovplace.core.result.run_result import RunResult
from ovplace.core.text.input_shapes import parse_shapes
from ovplace.devices.syntax import parse_devices
from ovplace.errors import ConfigError, PlacementError
from ovplace.session.run_files import changed_file, fingerprints, with_names_of
from ovplace.store.run_db import RunStore
from ovplace.store.run_folder import RunFolder

_MAY_CHANGE = {
    *(f"search.{key}" for key in ("model", "cluster", "budget", "time_s", "require_gain", "early_exit")),
    "comparison.rounds",
}
"""Settings that do not make it another run. A model may be called by another path: its fingerprint must be the same."""


@contextmanager
def opened_store(config: RunConfig, folder: RunFolder) -> Iterator[RunStore]:
    """Open the store of a run folder that is empty, or holds this run; a new one is gone again if no run begins.

    Args:
        config: what is to be run.
        folder: where.

    Raises:
        StoreError: it cannot be written.
        ConfigError: it holds a run with other settings, or an answer that was exported there.
    """
    if not folder.has_begun and folder.placement.exists():
        raise ConfigError(
            f"'{folder}' holds an answer without its run, which would be replaced; choose another folder with -o"
        )
    delete_abandoned(folder.path, folder.temporary_names)  # the user's own may lie beside them
    is_new = not folder.database.exists()
    try:
        with closing(folder.open_store()) as store:
            if folder.has_begun:
                _check_settings(config, folder, store)
            yield store
    finally:
        if is_new and not folder.has_begun:
            with suppress(OSError):
                folder.database.unlink()


def _check_settings(config: RunConfig, folder: RunFolder, store: RunStore) -> None:
    changed = _differences(with_names_of(config, folder.read_config(), store), config)
    if changed:
        differ = f"{', '.join(changed)} differ{'s' if len(changed) == 1 else ''}"
        raise ConfigError(f"'{folder}' holds another run ({differ}); choose another folder with -o, or delete it")


def check_fingerprints(config: RunConfig, folder: RunFolder, store: RunStore) -> dict[str, str]:
    """Check that a run to be continued began with the same model, inputs and simulated machine.

    Args:
        config: what is to be run.
        folder: the run folder.
        store: its open store, which keeps the fingerprints under the keys of the returned mapping.

    Returns:
        What `fingerprints` returns now, and `site` for whether this machine measures or a fleet.

    Raises:
        ConfigError: one has changed since the run began.
    """
    site = "a fleet" if config.search.cluster else "this machine"
    if folder.has_begun:
        if changed := changed_file(config, store):
            raise ConfigError(
                f"'{changed}' has changed since the run in '{folder}' began, or is another one; "
                "choose another folder with -o, or delete it"
            )
        if store.get("site") not in (None, site):
            began = f"on {store.get('site')}, with{'out' if config.search.cluster else ''} --cluster"
            raise ConfigError(f"the run in '{folder}' began {began}; choose another folder with -o, or delete it")
    return {**fingerprints(config), "site": site}


def limits_of(config: RunConfig) -> Limits:
    """Return the limits of a call."""
    return Limits(config.search.measurements, config.search.time_s, config.comparison.rounds)


def earlier_result(folder: RunFolder) -> RunResult | None:
    """Return the result of an earlier call; None where none has finished.

    Raises:
        StoreError: it is damaged.
    """
    with suppress(PlacementError):
        folder.check_finished()
        return folder.read_result()
    return None


def finishing_limits(config: RunConfig, folder: RunFolder, result: RunResult) -> Limits | None:
    """Return the limits under which a run was finished that asked for no less; None where there is more to do.

    Args:
        config: what is to be run.
        folder: the run folder.
        result: result of an earlier call.
    """
    last = folder.read_config()
    under = result.search.finished_under
    may_be_skipped = any(limits.skipped for limits in under) or last.search.early_exit  # a later call may have stopped
    if may_be_skipped and not config.search.early_exit and not result.search.trials:
        return None
    # Earlier versions kept the limits of the last call alone, finished or not.
    known = under or (limits_of(last),)
    searched = [limits for limits in known if config.search.early_exit or not limits.skipped]
    return next((limits for limits in searched if limits.covers(limits_of(config))), None)


def _differences(earlier: RunConfig, config: RunConfig) -> list[str]:
    """Return the settings that differ; those of two different plug-ins always do, and are left out."""
    old, new = asdict(earlier), asdict(config)
    return [
        name
        for section in old
        for key in sorted({*old[section], *new[section]})
        if (name := f"{section}.{key}") not in _MAY_CHANGE
        and old["search"].get(section) == new["search"].get(section)
        and _meaning(old, section, key) != _meaning(new, section, key)
    ]


def _meaning(tables: Mapping[str, Any], section: str, key: str) -> object:
    """Return what a setting says: shapes may be listed in any order, and texts have spaces."""
    value = tables[section].get(key)
    if (section, key) == ("search", "shape"):
        return parse_shapes(value)
    if (section, key) == ("search", "device") and value.strip():
        return parse_devices(value)
    return value
