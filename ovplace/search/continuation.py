"""The checks before a run folder is continued: same settings, model and simulated machine as it began with."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from ovplace.config.schema import RunConfig
from ovplace.errors import ConfigError
from ovplace.session.model_fingerprint import fingerprint
from ovplace.store.run_db import RunStore
from ovplace.store.run_folder import RunFolder

_MAY_CHANGE = ("budget", "time_s", "require_gain", "rounds")


def open_store(config: RunConfig, folder: RunFolder) -> RunStore:
    """Create the run folder, or take up the one that is there, and open its store.

    Args:
        config: what is to be run.
        folder: where.

    Raises:
        StoreError: it cannot be written.
        ConfigError: it holds a run with other settings.
    """
    folder.create()
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
        devices.

    Raises:
        ConfigError: one has changed since the run began.
    """
    source, machine = fingerprint(Path(config.search.model)), _machine_digest(config)
    if folder.has_begun:
        if store.get("source") not in (None, source):
            raise _changed(config.search.model, folder)
        if store.get("machine") not in (None, machine):
            raise _changed(str(config.backend.get("machine", "the simulated machine")), folder)
    return {"source": source, "machine": machine}


def _machine_digest(config: RunConfig) -> str:
    backend = config.plugins.backend
    return str(backend.factory.digest(backend.settings))


def _changed(what: str, folder: RunFolder) -> ConfigError:
    return ConfigError(
        f"'{what}' has changed since the run in '{folder}' began; choose another folder with -o, or delete it"
    )


def _differences(earlier: RunConfig, config: RunConfig) -> list[str]:
    old, new = asdict(earlier), asdict(config)
    return [
        f"{section}.{key}"
        for section in old
        for key in sorted({*old[section], *new[section]})
        if key not in _MAY_CHANGE and old[section].get(key) != new[section].get(key)
    ]
