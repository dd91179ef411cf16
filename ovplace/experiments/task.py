"""The work of every cell of a grid, and what it leaves."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, TypeVar

Outcome = TypeVar("Outcome")


@dataclass(frozen=True)
class Task(Generic[Outcome]):
    """The work of every cell of a grid.

    Attributes:
        function: `module:name` of a function that a process of its own calls with the configuration, the folder and
            `options`; it leaves `config.toml` and, as the last thing, its outcome in the folder.
        read: returns the outcome that a folder holds, None where the cell is not finished; raises `OSError`,
            `ValueError` or `StoreError` where the folder is damaged.
        options: settings of the task, of types that JSON has.
    """

    function: str
    read: Callable[[Path], Outcome | None]
    options: Mapping[str, object] = field(default_factory=dict)
