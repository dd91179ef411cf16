"""The models of an ablation: files, or recipes that are built once."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ovplace import zoo
from ovplace.config.toml import value_text
from ovplace.errors import ConfigError, ModelError
from ovplace.experiments.labels import folder_name
from ovplace.plugins.registry import fill

FOLDER = "models"
"""Where the recipes' models lie, beside the runs."""


@dataclass(frozen=True)
class Model:
    """A model of an ablation.

    Attributes:
        label: what tables call it.
        path: its file; empty for a recipe.
        shape: static shapes in benchmark_app's syntax.
        recipe: name of a recipe of `ovplace models`; empty for a file.
        options: the recipe's options.
    """

    label: str
    path: str = ""
    shape: str = ""
    recipe: str = ""
    options: Mapping[str, object] = field(default_factory=dict)

    def file(self, out: Path) -> Path:
        """Return its file, which for a recipe is in the ablation's folder."""
        return out / FOLDER / f"{folder_name(self.label)}.xml" if self.recipe else Path(self.path)


def parse(value: object) -> Model:
    """Return the model that an item of `ablation.models` describes.

    Args:
        value: a recipe's name, a path, `{recipe = "bert-base", tokens = 8}` or `{path = "x.onnx", shape = "[1,8]"}`.

    Raises:
        ConfigError: the item, or an option of the recipe, is not understood.
        UsageError: there is no such recipe.
        ModelError: there is no such file.
    """
    if isinstance(value, str):
        return _recipe(value, {}) if value in zoo.names() else _file(value, {})
    table = dict(value) if isinstance(value, Mapping) else {}
    if isinstance(name := table.pop("recipe", None), str):
        return _recipe(name, table)
    if isinstance(path := table.pop("path", None), str):
        return _file(path, table)
    raise ConfigError(
        f"a model in 'ablation.models' is a path, a recipe's name, or a table with 'recipe' or 'path'; got '{value}'"
    )


def _recipe(name: str, options: Mapping[str, object]) -> Model:
    fill(zoo.recipe(name).Config, dict(options), f"ablation.models: {name}")
    said = [f"{key}={value if isinstance(value, str) else value_text(value)}" for key, value in options.items()]
    return Model(" ".join([name, *said]), recipe=name, options=options)


@dataclass(frozen=True)
class _Opened:
    shape: str = ""


def _file(path: str, table: dict[str, object]) -> Model:
    if not Path(path).exists():
        raise ModelError(
            f"the model '{path}' does not exist; check the path, or name a recipe: {', '.join(zoo.names())}"
        )
    return Model(Path(path).stem, path, shape=fill(_Opened, table, f"ablation.models: {path}").shape)


def build(model: Model, out: Path) -> bool:
    """Build the model of a recipe as IR, unless it is there; return whether it had to be.

    Raises:
        ModelError: it cannot be written.
    """
    target = model.file(out)
    if not model.recipe or target.exists():
        return False
    new = target.parent / "new"
    try:
        config = fill(zoo.recipe(model.recipe).Config, dict(model.options), model.recipe)
        zoo.save(model.recipe, config, new / target.name)
        for suffix in (".bin", ".xml"):  # the .xml last: where it is, both are
            (new / target.name).with_suffix(suffix).replace(target.with_suffix(suffix))
        shutil.rmtree(new)
    except OSError as error:
        raise ModelError(f"cannot write '{target}': {error.strerror}; choose another folder with -o") from error
    return True
