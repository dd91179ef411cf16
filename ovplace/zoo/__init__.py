"""Benchmark models built with OpenVINO's opset: one recipe a file, seeded weights, no other framework.

A recipe holds `SUMMARY`, a frozen dataclass `Config` with its options, `SMALL`, a `Config` of the same structure that
runs in a few milliseconds, and `build(config) -> ov.Model`.
"""

from __future__ import annotations

import importlib
from dataclasses import fields
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ovplace.errors import ModelError, UsageError
from ovplace.ir.exceptions import last_line, unwritten

if TYPE_CHECKING:
    import openvino as ov


def names() -> list[str]:
    """Return the names of all recipes, importing none."""
    return sorted(path.stem.replace("_", "-") for path in Path(__file__).parent.glob("[!_]*.py"))


def recipe(name: str) -> ModuleType:
    """Return the recipe's module.

    Raises:
        UsageError: there is none of that name.
    """
    if name not in names():
        raise UsageError(f"unknown model '{name}'; there are: {', '.join(names())}")
    return importlib.import_module(f"ovplace.zoo.{name.replace('-', '_')}")


def save_recipe(name: str, config: object, path: Path, fp16: bool = False) -> ov.Model:
    """Build a recipe's model, write it as IR, its weights in f32 or f16, and return it.

    Args:
        name: name of the recipe.
        config: options of the model, of the recipe's type `Config`.
        path: the `.xml` to write; its folder is made.
        fp16: whether to compress the weights.

    Raises:
        UsageError: there is no model with these options.
        ModelError: it cannot be written.
    """
    import openvino as ov

    model = _built(name, config)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        ov.save_model(model, path, compress_to_fp16=fp16)
    except (OSError, RuntimeError) as error:
        raise ModelError(
            f"cannot write '{path}': {unwritten(error, path.parent)}; choose another folder with -o"
        ) from error
    return model


def _built(name: str, config: Any) -> ov.Model:
    """Return a recipe's model.

    Raises:
        UsageError: OpenVINO or numpy refuses what the options lead to, or has no memory for it.
    """
    try:
        model: ov.Model = recipe(name).build(config)
    except (RuntimeError, ValueError, ArithmeticError, MemoryError) as error:
        raise UsageError(
            f"'{name}' cannot be built with {_changed(config)}: {last_line(error)}; choose other values, "
            "'ovplace models list --json' tells what each has to be"
        ) from error
    return model


def _changed(config: Any) -> str:
    """Return the options that differ from their defaults as `--set` takes them; all of them if none does."""
    given = {f.name: getattr(config, f.name) for f in fields(config)}
    changed = {f.name: given[f.name] for f in fields(config) if given[f.name] != f.default}
    return ", ".join(f"{key}={value}" for key, value in (changed or given).items())
