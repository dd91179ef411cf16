"""From a TOML file to the cells of a grid, all of them checked before the first one starts.

[ablation]          models, machines, seeds; `base`, the name of the variant that changes nothing; `places`
[base]              settings of all cells, `section.key = value` as `--set` takes them
[variants.NAME]     settings changed for this variant
[grid]              setting -> list of values, all combinations
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from ovplace.config import toml
from ovplace.config.resolve import resolved
from ovplace.config.schema import RunConfig
from ovplace.core.build_dataclass import build_dataclass
from ovplace.errors import ConfigError, OvplaceError
from ovplace.experiments.folder_names import check_distinct, folder_name
from ovplace.experiments.models import FOLDER, GridModel, parse_model
from ovplace.experiments.variants import FULL, Variant, checked_settings, over, variants
from ovplace.session.configure import expanded
from ovplace.session.devices import choose_devices
from ovplace.session.session import check_settings

HERE = "here"
"""The machine that ovplace runs on, with its real devices."""

_SECTIONS = ("ablation", "base", "variants", "grid")


@dataclass(frozen=True)
class _Axes:
    """The `[ablation]` section.

    Attributes:
        models: as `models.parse_model` takes them.
        machines: names or files of simulated machines, or `here`.
        seeds: root seeds.
        base: name of the variant that changes nothing.
        places: patterns `model/machine` of the pairs that are wanted; all where there are none.
    """

    models: tuple[object, ...] = ()
    machines: tuple[str, ...] = ()
    seeds: tuple[int, ...] = ()
    base: str = FULL
    places: tuple[str, ...] = ()


@dataclass(frozen=True)
class Cell:
    """One search of a grid.

    Attributes:
        variant: name of the variant.
        model: label of the model.
        machine: label of the machine.
        seed: root seed.
        folder: where it is left.
        config: what is run there.
        simulated: whether no inference is run.
    """

    variant: str
    model: str
    machine: str
    seed: int
    folder: Path
    config: RunConfig
    simulated: bool

    @property
    def timed_here(self) -> bool:
        """Whether inferences are timed on this machine, so that no other cell may run at the same time."""
        return not self.simulated and not self.config.search.cluster


@dataclass(frozen=True)
class Grid:
    """Searches that differ in variant, model, machine and seed.

    Attributes:
        name: name of its file.
        out: folder of the cells.
        models: what is placed.
        machines: where, by label: the name or file of a simulated machine, or `here`.
        variants: what is compared; the first one changes nothing.
        cells: one for each variant, model, machine and seed; seed after seed, so that a grid that was stopped has
            whole comparisons on all models.
    """

    name: str
    out: Path
    models: tuple[GridModel, ...]
    machines: tuple[str, ...]
    variants: tuple[Variant, ...]
    cells: tuple[Cell, ...]


def read_grid(file: Path, out: Path, changes: Iterable[str] = ()) -> Grid:
    """Read a grid from its file and check all of it.

    Args:
        file: the TOML file.
        out: folder of the cells.
        changes: `section.key=value` texts, put over `[base]`.

    Raises:
        OvplaceError: something is not understood or not there; the text names its place.
    """
    return make_grid(toml.read(file), file, out, changes)


def make_grid(tables: Mapping[str, Any], file: Path, out: Path, changes: Iterable[str] = ()) -> Grid:
    """Return the grid that the tables of a file describe, all of it checked.

    Args:
        tables: what the file holds.
        file: its name, for error texts and for the name of the grid.
        out: folder of the cells.
        changes: `section.key=value` texts, put over `[base]`.

    Raises:
        OvplaceError: something is not understood or not there; the text names its place.
    """
    toml.check_sections(tables, _SECTIONS, file)
    axes = _axes(tables.get("ablation", {}), file)
    models = tuple(parse_model(value) for value in axes.models)
    machines = {_label(machine): machine for machine in axes.machines}
    _check_labels(axes, models)
    base = over(checked_settings(tables.get("base", {}), "base"), checked_settings(toml.assignments(changes), "--set"))
    named = variants(tables.get("variants", {}), tables.get("grid", {}), axes.base)
    checked = list(_checked(base, *named, machines))
    cells = [
        _cell(out, configs[label], (variant, model, label, seed))
        for seed in axes.seeds
        for model, label in _places(axes, models, machines)
        for variant, configs in checked
    ]
    distinct = tuple(variant for variant, _ in checked)
    return Grid(file.stem, out, models, tuple(machines), distinct, tuple(cells))


def _axes(table: dict[str, object], file: Path) -> _Axes:
    axes: _Axes = build_dataclass(_Axes, table, "ablation")
    for key in ("models", "machines", "seeds"):
        values = getattr(axes, key)
        if not values:
            raise ConfigError(f"'ablation.{key}' in '{file}' is missing or empty; it must be a list of at least one")
        twice = [value for i, value in enumerate(values) if value in values[:i]]
        if twice:
            raise ConfigError(f"'ablation.{key}' in '{file}' names '{twice[0]}' twice")
    if min(axes.seeds) < 0:
        raise ConfigError(f"'ablation.seeds' must not be negative, got {min(axes.seeds)}")
    return axes


def _places(axes: _Axes, models: Sequence[GridModel], machines: Iterable[str]) -> list[tuple[GridModel, str]]:
    """Return the pairs of a model and the label of a machine that are wanted."""
    pairs = [(model, label) for model in models for label in machines]
    for pattern in axes.places:
        if not any(_fits(pair, pattern) for pair in pairs):
            known = ", ".join(f"{model.label}/{label}" for model, label in pairs)
            raise ConfigError(f"'ablation.places' has '{pattern}', which fits no model/machine; there are {known}")
    return [pair for pair in pairs if not axes.places or any(_fits(pair, pattern) for pattern in axes.places)]


def _fits(pair: tuple[GridModel, str], pattern: str) -> bool:
    model, label = pair
    return fnmatchcase(f"{model.label}/{label}", pattern)


def _label(machine: str) -> str:
    return Path(machine).stem if machine.endswith(".toml") else machine


def _check_labels(axes: _Axes, models: Iterable[GridModel]) -> None:
    check_distinct("model", [model.label for model in models])
    check_distinct("machine", [_label(machine) for machine in axes.machines])


def _checked(
    base: toml.Tables, named: list[Variant], grid: list[Variant], machines: dict[str, str]
) -> Iterator[tuple[Variant, dict[str, RunConfig]]]:
    """Yield the variants with their settings on each machine, by its label.

    Points of the grid that are another variant are left out, as is a grid's own base.
    """
    check_distinct("variant", [variant.name for variant in (*named, *grid)], reserved=[FOLDER])
    seen: list[tuple[str, dict[str, RunConfig]]] = []
    for variant in (*named, *grid):
        effect = {label: _effect(base, variant, machine) for label, machine in machines.items()}
        same = next((name for name, other in seen if other == effect), None)
        if same is None:
            seen.append((variant.name, effect))
            yield variant, effect
        elif variant in named:
            raise ConfigError(f"variant '{variant.name}' is the same as '{same}': it changes nothing; remove it")


def _effect(base: toml.Tables, variant: Variant, machine: str) -> RunConfig:
    """Return the settings that a variant amounts to on a machine, defaults included, once it is sure that it can run.

    The devices of a fleet's machines are left to each search, which asks them.

    Raises:
        OvplaceError: the settings are not understood, or a device is not there.
    """
    try:
        config = _config(base, variant, machine)
        check_settings(config)
        if _devices_are_known(config):
            choose_devices(config)
        return config
    except OvplaceError as error:
        raise type(error)(f"variant '{variant.name}': {error}") from error


def _devices_are_known(config: RunConfig) -> bool:
    """Return whether a run has the devices of this machine or of a simulated one."""
    backend = config.plugins.backend
    return not config.search.cluster or backend.own_devices() is not None


def _config(base: toml.Tables, variant: Variant, machine: str) -> RunConfig:
    """Return the settings of a variant on a machine, without the model and the seed."""
    where = {} if machine == HERE else expanded({"search": {"machine": machine}})
    searched = {"search": {"early_exit": False}}  # searches are what is compared, with or without a gain
    settings = over(toml.merge(searched, expanded(base)), expanded(variant.settings))
    return resolved(toml.build_config(toml.merge(settings, where)))


def _cell(out: Path, config: RunConfig, point: tuple[Variant, GridModel, str, int]) -> Cell:
    """Return the cell of a variant, a model, the label of a machine and a seed, whose settings are `config`."""
    variant, model, label, seed = point
    shape = model.shape or config.search.shape
    own = replace(config, search=replace(config.search, model=str(model.file(out)), shape=shape, seed=seed))
    folder = out.joinpath(*map(folder_name, (variant.name, model.label, label, str(seed))))
    return Cell(variant.name, model.label, label, seed, folder, own, config.plugins.backend.factory.simulated)
