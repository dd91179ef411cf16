"""Scripts: modules of the folders in `FOLDERS` that yield the rows of one table.

A script has a docstring whose first line is the title of its table, a frozen dataclass `Options`, an instance of it
called `SHORT` that takes seconds, and a function `rows(options)` that yields the rows.
"""

from __future__ import annotations

import ast
import dataclasses
import importlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from benchmarks.report import ResultTable, from_rows
from ovplace.errors import UsageError

ROOT = Path(__file__).parent
FOLDERS = ("micro", "stages", "studies", "papers", "robustness")


class UnavailableError(Exception):
    """This machine lacks what a script measures; the text says what."""


def script_files() -> dict[str, Path]:
    """Return the files of all scripts, by name."""
    found = [path for folder in FOLDERS for path in sorted((ROOT / folder).glob("*.py"))]
    return {path.stem: path for path in found if path.stem != "__init__"}


def title(file: Path) -> str:
    """Return the title of a script, without importing it."""
    text = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
    return text.splitlines()[0].rstrip(".")


def run_script(file: Path, short: bool, settings: Iterable[str]) -> ResultTable:
    """Run a script, and return its table.

    Args:
        file: the script.
        short: whether it runs with `SHORT` instead of its defaults.
        settings: `name=value` texts put over these.

    Raises:
        UnavailableError: this machine lacks what it measures.
        OvplaceError: an option is not understood, or something fails.
    """
    module: Any = importlib.import_module(f"benchmarks.{file.parent.name}.{file.stem}")
    options = module.SHORT if short else module.Options()
    changed = with_settings(options, settings, file.stem)
    note = " ".join((module.__doc__ or "").split("\n\n", 1)[-1].split())
    return from_rows(file.stem.replace("_", "-"), title(file), module.rows(changed), note)


def with_settings(options: Any, settings: Iterable[str], place: str) -> Any:
    """Return options with some of them changed.

    Args:
        options: a dataclass instance.
        settings: `name=value` texts.
        place: what the options belong to, for error texts.

    Raises:
        UsageError: a text is not of that form.
        ConfigError: a name or a value is not understood.
    """
    from ovplace.core.build_dataclass import build_dataclass

    values: dict[str, object] = {f.name: getattr(options, f.name) for f in dataclasses.fields(options)}
    for text in settings:
        name, equals, value = text.partition("=")
        if not equals:
            raise UsageError(f"--set takes name=value, got '{text}'")
        values[name.strip()] = value.strip()
    return build_dataclass(type(options), values, place)
