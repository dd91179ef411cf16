"""Plan of a training: its configuration file, checked and resolved before anything is computed.

[train]     placer, models, machines, effort
[placer]    settings of the placer
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ovplace import zoo
from ovplace.config import toml
from ovplace.config.files import find_toml
from ovplace.config.toml import value_text
from ovplace.core.build_dataclass import build_dataclass
from ovplace.errors import ConfigError, UsageError
from ovplace.plugins import registry
from ovplace.plugins.registry import Plugin
from ovplace.simulation import machine_file
from ovplace.simulation.machine import SimulatedMachine
from ovplace.train.training_config import TrainConfig
from ovplace.train.training_problems import ModelRecipe
from ovplace.zoo import families as generated

CONFIGS = "configs/train"
_SECTIONS = ("train", "placer")


@dataclass(frozen=True)
class TrainingPlan:
    """A checked training configuration.

    Attributes:
        config: the `[train]` section.
        text: the whole configuration as TOML with dotted keys; equal texts give the same training on equal machines.
        placer: the plug-in.
        settings: the placer's `Config`.
        models: models to train on.
        held_out: models to evaluate, by the name of their set.
        machines: machines to train on, without the random ones.
        held_out_machines: machines to evaluate.
    """

    config: TrainConfig
    text: str
    placer: Plugin
    settings: Any
    models: tuple[ModelRecipe, ...]
    held_out: Mapping[str, tuple[ModelRecipe, ...]]
    machines: tuple[SimulatedMachine, ...]
    held_out_machines: tuple[SimulatedMachine, ...]

    @property
    def machine_digests(self) -> tuple[str, ...]:
        """The fingerprints of all machines: their files may change while the text stays."""
        return tuple(machine.digest for machine in (*self.machines, *self.held_out_machines))


def find_training(text: str) -> Path:
    """Return the configuration file with a path, or with the name of one that is included in ovplace.

    Raises:
        UsageError: there is no such file.
    """
    return find_toml(text, CONFIGS, "training")


def read_plan(file: Path, changes: Iterable[str] = ()) -> TrainingPlan:
    """Read and check a training configuration.

    Args:
        file: the TOML file.
        changes: `section.key=value` texts that replace values of the file.

    Raises:
        OvplaceError: a key or value is not valid, or a named model, machine or feature does not exist.
    """
    return _plan(toml.merge(toml.read(file), toml.assignments(changes)), file)


def plan_of(text: str) -> TrainingPlan:
    """Return the plan with a text.

    Args:
        text: `TrainingPlan.text`, which is TOML.

    Raises:
        OvplaceError: as `read_plan` does.
    """
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"the text of a training is no TOML: {error}") from error
    return _plan(tables, Path("training"))


def _plan(tables: toml.Tables, file: Path) -> TrainingPlan:
    toml.check_sections(tables, _SECTIONS, file)
    config: TrainConfig = build_dataclass(TrainConfig, tables.get("train", {}), "train")
    placer = trainable(config.placer)
    models, held_out = _families(config)
    models += _recipes(config.recipes, "recipes")
    if recipes := _recipes(config.held_out_recipes, "held_out_recipes"):
        held_out["held-out recipes"] = recipes
    if not models or not config.machines:
        raise ConfigError(f"'{file}' has nothing to train on; give train.families or train.recipes, and train.machines")
    for name in config.features:
        registry.load("features", name)
    return TrainingPlan(
        config=config,
        text="\n".join(f"{key} = {value_text(value)}" for key, value in sorted(_flat(tables))),
        placer=placer,
        settings=placer.config(dict(tables.get("placer", {}))),
        models=models,
        held_out=held_out,
        machines=tuple(machine_file.load_machine(name) for name in config.machines),
        held_out_machines=tuple(machine_file.load_machine(name) for name in config.held_out_machines),
    )


def trainable(name: str) -> Plugin:
    """Load a placer that has a policy to train.

    Raises:
        UsageError: there is no such placer, or it cannot be trained.
    """
    placer = registry.load("placers", name)
    if placer.trainer is None:
        able = [other for other in registry.names("placers") if registry.load("placers", other).trainer]
        raise UsageError(f"the placer '{name}' has no policy to train; those that have: {', '.join(able)}")
    return placer


def _flat(tables: toml.Tables) -> Iterator[tuple[str, object]]:
    for section, table in tables.items():
        yield from ((f"{section}.{key}", value) for key, value in table.items() if key != "output")


def _families(config: TrainConfig) -> tuple[tuple[ModelRecipe, ...], dict[str, tuple[ModelRecipe, ...]]]:
    """Return the generated models to train on, and the held-out ones by the name of their set."""
    first, models, held_out = config.graphs - config.held_out, [], {}
    for name in config.families:
        if name not in generated.family_names():
            raise ConfigError(
                f"unknown family '{name}' in 'train.families'; there are: {', '.join(generated.family_names())}"
            )
        members = [ModelRecipe(f"{name} {index}", name, {"index": index}) for index in range(config.graphs)]
        models += members[:first]
        if config.held_out:
            held_out[f"held-out {name}"] = tuple(members[first:])
    return tuple(models), held_out


def _recipes(values: Iterable[object], place: str) -> tuple[ModelRecipe, ...]:
    return tuple(_recipe(value, place) for value in values)


def _recipe(value: object, place: str) -> ModelRecipe:
    table = dict(value) if isinstance(value, Mapping) else {"recipe": value}
    name = table.pop("recipe", None)
    if not isinstance(name, str):
        raise ConfigError(f"a model in 'train.{place}' is a benchmark model, or a table with 'recipe'; got '{value}'")
    build_dataclass(zoo.recipe(name).Config, dict(table), f"train.{place}: {name}")
    return ModelRecipe(" ".join([name, *(f"{key}={option}" for key, option in table.items())]), name, table)
