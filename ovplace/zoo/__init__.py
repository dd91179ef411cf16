"""Benchmark models built with OpenVINO's opset: one recipe a file, seeded weights, no other framework.

A recipe holds `SUMMARY`, a frozen dataclass `Config` with its options, `SMALL`, a `Config` of the same structure that
runs in a few milliseconds, and `build(config) -> ov.Model`.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType

from ovplace.errors import UsageError

_HELPERS = ("layers", "sequence_layers")


def names() -> list[str]:
    """Return the names of all recipes, importing none."""
    files = (path.stem for path in Path(__file__).parent.glob("[!_]*.py"))
    return sorted(stem.replace("_", "-") for stem in files if stem not in _HELPERS)


def recipe(name: str) -> ModuleType:
    """Return the recipe's module.

    Raises:
        UsageError: there is none of that name.
    """
    if name not in names():
        raise UsageError(f"unknown model '{name}'; there are: {', '.join(names())}")
    return importlib.import_module(f"ovplace.zoo.{name.replace('-', '_')}")
