"""The configuration of a run from a file, `--set` texts and options, with the short forms `machine` and `policy`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from ovplace.config import toml
from ovplace.config.files import find_config, reachable
from ovplace.config.resolve import resolved
from ovplace.config.schema import RunConfig
from ovplace.errors import UsageError

SIMULATE = "simulate"
"""The backend that `machine` stands for."""

SHIPPED_PLACER = "hsdag"
"""The placer whose policy `shipped` is where no placer is named."""


def effective(
    file: str | Path | None,
    settings: Iterable[str] = (),
    given: Mapping[str, object] | None = None,
    folder: Path | None = None,
) -> RunConfig:
    """Return the run that a file, `--set` texts and options describe, later ones winning, all settings typed.

    Args:
        file: a TOML file, or the name of one that comes with ovplace.
        settings: `section.key=value` strings.
        given: options, fields of `SearchConfig`.
        folder: the run folder; a run that began there goes on without its policy file.

    Raises:
        ConfigError: one of them is not understood.
        UsageError: there is no such file, a plug-in is unknown, or `machine` or `policy` contradict the backend or
            placer named with them.
    """
    layers = (toml.read(find_config(file)) if file else {}, toml.assignments(settings), {"search": dict(given or {})})
    return resolved(toml.build_config(toml.merge(*(expanded(layer, folder) for layer in layers))))


def expanded(tables: Mapping[str, Mapping[str, object]], folder: Path | None = None) -> toml.Tables:
    """Return the tables in which `search.machine` and `search.policy` are replaced by what they stand for.

    Args:
        tables: sections of a configuration.
        folder: the run folder, if there is one.

    Raises:
        UsageError: another backend or placer is named in the same tables, or the policy file cannot be used.
    """
    search = dict(tables.get("search", {}))
    machine, policy = (str(search.pop(key, "") or "") for key in ("machine", "policy"))
    found = toml.merge(tables)
    if "search" in found:
        found["search"] = search
    if machine:
        found = toml.merge(found, _simulated(machine, search.get("backend")))
    if policy:
        begun = _begun(policy, folder) if folder else {}
        placed = begun or _trained(policy, str(search.get("placer") or ""))
        found = toml.merge(found, {"search": placed, "placer": {"policy": policy}})
    return found


def _simulated(machine: str, backend: object) -> toml.Tables:
    if backend not in (None, SIMULATE):
        raise UsageError(f"--machine is a simulated machine, --backend is '{backend}'; leave one of them out")
    return {"search": {"backend": SIMULATE}, "backend": {"machine": machine}}


def _trained(policy: str, placer: str) -> dict[str, object]:
    """Return the placer and the features that a policy file was trained with."""
    from ovplace.learning.policy_file import SHIPPED, PolicyFile

    file = PolicyFile.read(policy, placer or (SHIPPED_PLACER if policy == SHIPPED else ""))
    return {"placer": file.placer} | ({"features": file.features} if file.features else {})


def _begun(policy: str, folder: Path) -> dict[str, object]:
    """Return placer and features of the run in `folder`, if it began with a policy file that is gone; else nothing."""
    from ovplace.store.run_folder import RunFolder

    if reachable(Path(policy), "the policy").exists() or not RunFolder(folder).has_begun:
        return {}
    tables = toml.read(RunFolder(folder).config)
    if tables.get("placer", {}).get("policy") != policy:
        return {}
    return {key: value for key, value in tables.get("search", {}).items() if key in ("placer", "features")}
