"""The state of each cell of a grid, by what its folder holds."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Generic

from ovplace.config.schema import RunConfig
from ovplace.errors import OvplaceError, StoreError
from ovplace.experiments.grid import Cell
from ovplace.experiments.task import Outcome, Task
from ovplace.session.run_files import changed_file, with_names_of
from ovplace.store.run_db import RunStore
from ovplace.store.run_folder import RunFolder

ERROR = "error.txt"


@dataclass(frozen=True)
class CellState(Generic[Outcome]):
    """A cell as its folder has it.

    Attributes:
        cell: the cell.
        outcome: None if it is not finished.
        error: why it failed the last time; empty if it did not.
    """

    cell: Cell
    outcome: Outcome | None = None
    error: str = ""


def read_state(cell: Cell, task: Task[Outcome]) -> CellState[Outcome]:
    """Return the state of a cell; a damaged folder is a state, too.

    Args:
        cell: a cell of a grid.
        task: the work of each cell of that grid, which reads the outcome.
    """
    error = ""
    with contextlib.suppress(OSError):
        error = (cell.folder / ERROR).read_text(encoding="utf-8").strip()
    try:
        outcome = task.read(cell.folder)
        if outcome is None:
            return CellState(cell, error=error)
        if other := _other_run(cell):
            return CellState(cell, error=error or other)
        return CellState(cell, outcome)
    except (OSError, ValueError, OvplaceError) as damage:
        return CellState(cell, error=error or f"the run folder is damaged: {damage}")


def _other_run(cell: Cell) -> str:
    """Return what tells the run in a cell's folder from the cell's; empty where nothing does."""
    files = RunFolder(cell.folder)
    with contextlib.closing(files.open_store() if files.database.exists() else RunStore(Path(":memory:"))) as store:
        began = with_names_of(cell.config, files.read_config(), store)
        if _without_address(began) != _without_address(cell.config):
            return "the folder holds a run with other settings"
        there = Path(cell.config.search.model).exists()  # that of a recipe need not be, once all runs are finished
        changed = changed_file(cell.config, store) if there else ""
        return f"'{changed}' has changed since the run; choose another folder with -o, or delete it" if changed else ""


def _without_address(config: RunConfig) -> RunConfig:
    """Return a configuration that says whether a fleet measures, but not where its scheduler is, which may change."""
    return replace(config, search=replace(config.search, cluster="a fleet" if config.search.cluster else ""))


def write_error(folder: Path, error: str) -> None:
    """Leave the error of a failed cell in its folder, or remove that of an earlier attempt.

    Args:
        folder: of the cell.
        error: why it failed; empty if it did not.

    Raises:
        StoreError: the folder cannot be written.
    """
    try:
        if error:
            folder.mkdir(parents=True, exist_ok=True)
            (folder / ERROR).write_text(error + "\n", encoding="utf-8")
        else:
            (folder / ERROR).unlink(missing_ok=True)
    except OSError as problem:
        raise StoreError(f"cannot write '{folder}': {problem.strerror}; choose another folder with -o") from problem
