"""The models of a grid: files, or recipes that are built once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ovplace import zoo
from ovplace.atomic import replace_file, temporary_folder
from ovplace.config.toml import value_text
from ovplace.core.build_dataclass import build_dataclass
from ovplace.errors import ConfigError, ModelError
from ovplace.experiments.folder_names import folder_name

FOLDER = "models"
"""Folder of the models built from recipes, in the folder of the grid."""


@dataclass(frozen=True)
class GridModel:
    """A model of a grid.

    Attributes:
        label: name in tables.
        path: its file; empty for a recipe.
        shape: static shapes in benchmark_app's syntax.
        recipe: name of a recipe of `ovplace models`; empty for a file.
        options: the recipe's options.
        fp16: whether the recipe's weights are stored in half precision.
    """

    label: str
    path: str = ""
    shape: str = ""
    recipe: str = ""
    options: Mapping[str, object] = field(default_factory=dict)
    fp16: bool = False

    def file(self, out: Path) -> Path:
        """Return its file, which for a recipe is in `out`, the folder of the grid."""
        return out / FOLDER / f"{folder_name(self.label)}.xml" if self.recipe else Path(self.path)


def parse_model(value: object) -> GridModel:
    """Return the model that an item of `models` describes.

    Args:
        value: a recipe's name, a path, `{recipe = "bert-base", tokens = 8, fp16 = true}` or
            `{path = "x.onnx", shape = "[1,8]"}`.

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
        f"a model in 'ablation.models' is a path, a benchmark model, or a table with 'recipe' or 'path'; got '{value}'"
    )


def _recipe(name: str, options: Mapping[str, object]) -> GridModel:
    own = {key: value for key, value in options.items() if key != "fp16"}
    build_dataclass(zoo.recipe(name).Config, own, f"ablation.models: {name}")
    options_text = [f"{key}={value if isinstance(value, str) else value_text(value)}" for key, value in own.items()]
    fp16 = build_dataclass(_Weights, {key: options[key] for key in options if key not in own}, "ablation.models").fp16
    label = " ".join([name, *options_text, *(["fp16"] if fp16 else [])])
    return GridModel(label, recipe=name, options=own, fp16=fp16)


@dataclass(frozen=True)
class _Weights:
    fp16: bool = False


@dataclass(frozen=True)
class _FileOptions:
    shape: str = ""


def _file(path: str, table: dict[str, object]) -> GridModel:
    if not Path(path).exists():
        raise ModelError(
            f"the model '{path}' does not exist; check the path, or name a benchmark model: {', '.join(zoo.names())}"
        )
    return GridModel(
        Path(path).stem, path, shape=build_dataclass(_FileOptions, table, f"ablation.models: {path}").shape
    )


def build_model(model: GridModel, out: Path) -> bool:
    """Build the model of a recipe as IR, unless it is there.

    Args:
        model: what to build.
        out: folder of the grid.

    Returns:
        Whether it had to be built.

    Raises:
        ModelError: it cannot be written.
        StoreError: its folder cannot be written.
    """
    target = model.file(out)
    if not model.recipe or target.exists():
        return False
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        config = build_dataclass(zoo.recipe(model.recipe).Config, dict(model.options), model.recipe)
        with temporary_folder(target.parent, "new") as new:
            zoo.save_recipe(model.recipe, config, new / target.name, model.fp16)
            for suffix in (".bin", ".xml"):  # the .xml last: where it is, both are
                replace_file((new / target.name).with_suffix(suffix), target.with_suffix(suffix))
    except OSError as error:
        raise ModelError(f"cannot write '{target}': {error.strerror}; choose another folder with -o") from error
    return True
