"""What a policy is trained on and judged by, as TOML, checked before anything is done.

[train]     placer, models, machines, effort
[placer]    settings of the placer
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ovplace import zoo
from ovplace.config import toml
from ovplace.config.toml import value_text
from ovplace.errors import ConfigError, UsageError
from ovplace.plugins import registry
from ovplace.plugins.registry import Plugin, fill
from ovplace.shipped import shipped, shipped_in
from ovplace.simulation import machine_file
from ovplace.simulation.machine import Machine
from ovplace.train.cases import Graph
from ovplace.zoo import families as generated

CONFIGS = "configs/train"
_SECTIONS = ("train", "placer")


@dataclass(frozen=True)
class TrainConfig:
    """The `[train]` section.

    Attributes:
        placer: whose policy is trained.
        families: families of generated models.
        graphs: models of each family.
        held_out: how many of these, the last ones, are only judged.
        recipes: further models, names or tables such as `{recipe = "bert-base", tokens = 8}`.
        held_out_recipes: the same, only judged.
        machines: simulated machines, names or files.
        held_out_machines: the same, only judged.
        invented: machines that are made up of varied devices of `machines`.
        features: node features; none where the policy has enough with costs.
        updates: gradient steps.
        batch: problems in each.
        mixed: share of a batch whose best placement needs several devices, as far as there are such: they are few, and
            what there is to learn is in them.
        seed: of everything random.
        solver_s: time limit of the mixed-integer program for each problem that is judged; 0 does without it.
        per_graph: updates on each held-out problem alone, for comparison; 0 does without.
        output: the policy file.
    """

    placer: str = "hsdag"
    families: tuple[str, ...] = ()
    graphs: int = generated.SIZE
    held_out: int = generated.SIZE // 2
    recipes: tuple[object, ...] = ()
    held_out_recipes: tuple[object, ...] = ()
    machines: tuple[str, ...] = ()
    held_out_machines: tuple[str, ...] = ()
    invented: int = 0
    features: tuple[str, ...] = ()
    updates: int = 1000
    batch: int = 16
    mixed: float = 0.5
    seed: int = 0
    solver_s: float = 1.0
    per_graph: int = 0
    output: str = "policy.npz"

    def __post_init__(self) -> None:
        """Check the numbers."""
        for name, least in (("graphs", 1), ("updates", 1), ("batch", 1), ("held_out", 0), ("invented", 0)):
            if getattr(self, name) < least:
                raise ValueError(f"{name} must be at least {least}, got {getattr(self, name)}")
        if not 0 <= self.mixed <= 1:
            raise ValueError(f"mixed must be between 0 and 1, got {self.mixed}")
        if self.held_out > self.graphs:
            raise ValueError(f"held_out must be at most graphs, {self.graphs}, got {self.held_out}")
        if min(self.seed, self.solver_s, self.per_graph) < 0:
            raise ValueError("seed, solver_s and per_graph must not be negative")


@dataclass(frozen=True)
class Plan:
    """A training, checked.

    Attributes:
        config: its settings.
        text: all of it as TOML: two plans of the same text train the same.
        placer: the plug-in.
        settings: the placer's `Config`.
        graphs: models to train on.
        held_out: models to judge by, by the name of their set.
        machines: to train on, invented ones not among them.
        held_out_machines: to judge by.
    """

    config: TrainConfig
    text: str
    placer: Plugin
    settings: Any
    graphs: tuple[Graph, ...]
    held_out: Mapping[str, tuple[Graph, ...]]
    machines: tuple[Machine, ...]
    held_out_machines: tuple[Machine, ...]


def find(text: str) -> Path:
    """Return the file that `text` means: a path, or the name of one that comes with ovplace.

    Raises:
        UsageError: there is none.
    """
    if Path(text).is_file():
        return Path(text)
    found = shipped(f"{CONFIGS}/{text}.toml") if Path(text).name == text else None
    if found is None:
        known = ", ".join(shipped_in(CONFIGS, ".toml"))
        raise UsageError(f"there is no training '{text}'; give a .toml file, or one of: {known}")
    return found


def plan(file: Path, changes: Iterable[str] = ()) -> Plan:
    """Read a training and check all of it.

    Args:
        file: the TOML file.
        changes: `section.key=value` texts, put over it.

    Raises:
        OvplaceError: something is not understood or not there; the text names its place.
    """
    tables = toml.merge(toml.read(file), toml.assignments(changes))
    for section in tables:
        if section not in _SECTIONS:
            raise ConfigError(f"unknown section '{section}' in '{file}'; known: {', '.join(_SECTIONS)}")
    config: TrainConfig = fill(TrainConfig, tables.get("train", {}), "train")
    placer = trainable(config.placer)
    graphs, held_out = _families(config)
    graphs += _recipes(config.recipes, "recipes")
    if recipes := _recipes(config.held_out_recipes, "held_out_recipes"):
        held_out["held-out recipes"] = recipes
    if not graphs or not config.machines:
        raise ConfigError(f"'{file}' has nothing to train on; give train.families or train.recipes, and train.machines")
    for name in config.features:
        registry.load("features", name)
    return Plan(
        config=config,
        text="\n".join(f"{key} = {value_text(value)}" for key, value in sorted(_flat(tables))),
        placer=placer,
        settings=placer.config(dict(tables.get("placer", {}))),
        graphs=graphs,
        held_out=held_out,
        machines=tuple(machine_file.load(name) for name in config.machines),
        held_out_machines=tuple(machine_file.load(name) for name in config.held_out_machines),
    )


def trainable(name: str) -> Plugin:
    """Return the placer of that name.

    Raises:
        UsageError: there is none, or nothing in it can be trained.
    """
    placer = registry.load("placers", name)
    if placer.trainer is None:
        able = [other for other in registry.names("placers") if registry.load("placers", other).trainer]
        raise UsageError(f"the placer '{name}' has no policy to train; those that have: {', '.join(able)}")
    return placer


def _flat(tables: toml.Tables) -> Iterator[tuple[str, object]]:
    for section, table in tables.items():
        yield from ((f"{section}.{key}", value) for key, value in table.items() if key != "output")


def _families(config: TrainConfig) -> tuple[tuple[Graph, ...], dict[str, tuple[Graph, ...]]]:
    """Return the models of the families to train on, and those held out."""
    first, graphs, held_out = config.graphs - config.held_out, [], {}
    for name in config.families:
        if name not in generated.names():
            raise ConfigError(f"unknown family '{name}' in 'train.families'; there are: {', '.join(generated.names())}")
        members = [Graph(f"{name} {index}", name, {"index": index}) for index in range(config.graphs)]
        graphs += members[:first]
        if config.held_out:
            held_out[f"held-out {name}"] = tuple(members[first:])
    return tuple(graphs), held_out


def _recipes(values: Iterable[object], place: str) -> tuple[Graph, ...]:
    return tuple(_recipe(value, place) for value in values)


def _recipe(value: object, place: str) -> Graph:
    table = dict(value) if isinstance(value, Mapping) else {"recipe": value}
    name = table.pop("recipe", None)
    if not isinstance(name, str):
        raise ConfigError(f"a model in 'train.{place}' is a recipe's name, or a table with 'recipe'; got '{value}'")
    fill(zoo.recipe(name).Config, dict(table), f"train.{place}: {name}")
    return Graph(" ".join([name, *(f"{key}={option}" for key, option in table.items())]), name, table)
