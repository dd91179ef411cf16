"""From a TOML file to the runs of an ablation, all of them checked before the first one starts.

[ablation]          models, machines, seeds
[base]              settings of all runs, `section.key = value` as `--set` takes them
[variants.NAME]     settings changed for this variant
[grid]              setting -> list of values, all combinations
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ovplace.config import toml
from ovplace.config.schema import RunConfig
from ovplace.errors import ConfigError, OvplaceError, UsageError
from ovplace.experiments.labels import check_distinct, folder_name
from ovplace.experiments.model import FOLDER, Model, parse
from ovplace.experiments.variants import Variant, over, settings, variants
from ovplace.plugins import registry
from ovplace.plugins.registry import fill
from ovplace.session.session import check_settings, choose_devices
from ovplace.shipped import shipped, shipped_in

HERE = "here"
"""The machine that ovplace runs on, with its real devices."""

CONFIGS = "configs/ablations"
_SECTIONS = ("ablation", "base", "variants", "grid")


@dataclass(frozen=True)
class _About:
    """The `[ablation]` section."""

    models: tuple[object, ...] = ()
    machines: tuple[str, ...] = ()
    seeds: tuple[int, ...] = ()


@dataclass(frozen=True)
class Run:
    """One search of an ablation.

    Attributes:
        variant: name of the variant.
        model: label of the model.
        machine: label of the machine.
        seed: root seed.
        folder: run folder.
        config: what is run there.
        simulated: no inference is run, so that others may run at the same time.
    """

    variant: str
    model: str
    machine: str
    seed: int
    folder: Path
    config: RunConfig
    simulated: bool


@dataclass(frozen=True)
class Ablation:
    """All that an ablation is.

    Attributes:
        name: of the file.
        out: folder of the runs.
        models: what is placed.
        machines: where, by label: the name or file of a simulated machine, or `here`.
        variants: what is compared; the first one changes nothing.
        runs: one for each variant, model, machine and seed; seed after seed, so that a stopped ablation has whole
            comparisons on all models.
    """

    name: str
    out: Path
    models: tuple[Model, ...]
    machines: tuple[str, ...]
    variants: tuple[Variant, ...]
    runs: tuple[Run, ...]


def names() -> list[str]:
    """Return the names of the ablations that come with ovplace."""
    return shipped_in(CONFIGS, ".toml")


def find(text: str) -> Path:
    """Return the file that `text` means: a path, or the name of one that comes with ovplace.

    Raises:
        UsageError: there is none.
    """
    if Path(text).is_file():
        return Path(text)
    name = Path(text).name.removesuffix(".toml")
    found = shipped(f"{CONFIGS}/{name}.toml") if text in (name, f"{CONFIGS}/{name}.toml") else None
    if found is None:
        near = difflib.get_close_matches(name, names(), n=1)
        hint = f"did you mean '{near[0]}'? " if near else ""
        raise UsageError(f"there is no ablation '{text}'; {hint}give a .toml file, or one of: {', '.join(names())}")
    return found


def plan(file: Path, out: Path, changes: Iterable[str] = ()) -> Ablation:
    """Read an ablation and check all of it.

    Args:
        file: the TOML file.
        out: folder of the runs.
        changes: `section.key=value` texts, put over `[base]`.

    Raises:
        OvplaceError: something is not understood or not there; the text names its place.
    """
    tables: dict[str, Any] = toml.read(file)
    for section in tables:
        if section not in _SECTIONS:
            raise ConfigError(f"unknown section '{section}' in '{file}'; known: {', '.join(_SECTIONS)}")
    about = _about(tables.get("ablation", {}), file)
    models = tuple(parse(value) for value in about.models)
    machines = {_label(machine): machine for machine in about.machines}
    _check_labels(about, models)
    set_here = settings(toml.assignments(changes), "--set")
    base = over(settings(tables.get("base", {}), "base"), set_here)
    checked = list(_checked(base, *variants(tables.get("variants", {}), tables.get("grid", {})), machines))
    runs = [
        _run(out, base, variant, model, (label, machine), seed)
        for seed in about.seeds
        for model in models
        for label, machine in machines.items()
        for variant in checked
    ]
    return Ablation(file.stem, out, models, tuple(machines), tuple(checked), tuple(runs))


def _about(table: dict[str, object], file: Path) -> _About:
    about: _About = fill(_About, table, "ablation")
    for key in ("models", "machines", "seeds"):
        values = getattr(about, key)
        if not values:
            raise ConfigError(f"'ablation.{key}' in '{file}' is missing or empty; it must be a list of at least one")
        twice = [value for i, value in enumerate(values) if value in values[:i]]
        if twice:
            raise ConfigError(f"'ablation.{key}' in '{file}' names '{twice[0]}' twice")
    if min(about.seeds) < 0:
        raise ConfigError(f"'ablation.seeds' must not be negative, got {min(about.seeds)}")
    return about


def _label(machine: str) -> str:
    return Path(machine).stem if machine.endswith(".toml") else machine


def _check_labels(about: _About, models: Iterable[Model]) -> None:
    check_distinct("model", [model.label for model in models])
    check_distinct("machine", [_label(machine) for machine in about.machines])


def _checked(
    base: toml.Tables, named: list[Variant], grid: list[Variant], machines: dict[str, str]
) -> Iterator[Variant]:
    """Yield the variants; points of the grid that are another variant are left out, as is a grid's own base."""
    check_distinct("variant", [variant.name for variant in (*named, *grid)], reserved=[FOLDER])
    seen: list[tuple[str, list[object]]] = []
    for variant in (*named, *grid):
        essence = [_essence(base, variant, machine) for machine in machines.values()]
        same = next((name for name, other in seen if other == essence), None)
        if same is None:
            seen.append((variant.name, essence))
            yield variant
        elif variant in named:
            raise ConfigError(f"variant '{variant.name}' is the same as '{same}': it changes nothing; remove it")


def _essence(base: toml.Tables, variant: Variant, machine: str) -> object:
    """Return what a variant comes to on a machine, defaults filled in, once it is sure that it can be run.

    Raises:
        OvplaceError: the settings are not understood, or a device is not there.
    """
    try:
        config = _config(base, variant, machine)
        check_settings(config)
        choose_devices(config)
    except OvplaceError as error:
        raise type(error)(f"variant '{variant.name}': {error}") from error
    search = config.search
    pairs = (("placers", search.placer), ("coarseners", search.coarsener), ("backends", search.backend))
    tables = (config.placer, config.coarsener, config.backend)
    filled = [registry.load(*pair).config(dict(table)) for pair, table in zip(pairs, tables, strict=True)]
    return search, config.measure, config.duel, config.costs, config.devices, filled


def _config(base: toml.Tables, variant: Variant, machine: str, given: dict[str, object] | None = None) -> RunConfig:
    where: toml.Tables = {}
    if machine != HERE:
        where = {"search": {"backend": "simulate"}, "backend": {"machine": machine}}
    return toml.build(toml.merge(over(base, variant.settings), where, {"search": given or {}}))


def _run(out: Path, base: toml.Tables, variant: Variant, model: Model, machine: tuple[str, str], seed: int) -> Run:
    label, name = machine
    given: dict[str, object] = {"model": str(model.file(out)), "seed": seed}
    if model.shape:
        given["shape"] = model.shape
    config = _config(base, variant, name, given)
    folder = out.joinpath(*map(folder_name, (variant.name, model.label, label, str(seed))))
    backend = registry.load("backends", config.search.backend).factory
    return Run(variant.name, model.label, label, seed, folder, config, getattr(backend, "simulated", False))
