"""Run the cells of a grid that are not finished; the same call goes on where one was stopped."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from typing import Any

from ovplace.errors import InterruptedRunError, UsageError
from ovplace.experiments.cell_state import CellState, read_state, write_error
from ovplace.experiments.execute import execute
from ovplace.experiments.grid import Cell, Grid
from ovplace.experiments.models import build_model
from ovplace.experiments.task import Outcome, Task
from ovplace.session.events import Listener, Progress, silent

Execute = Callable[[Sequence[Cell], Task[Any], int, Callable[[Cell, str], None]], None]
"""Does a task in all cells, as `execute` does."""


def run_grid(
    grid: Grid,
    task: Task[Any],
    jobs: int,
    listener: Listener = silent,
    only: str = "*",
    *,
    execute: Execute = execute,
) -> None:
    """Build the models, and do `task` in all cells that are not finished.

    Args:
        grid: the cells.
        task: the work of each.
        jobs: simulated cells at the same time.
        listener: called for each model that is built and each cell that ends.
        only: pattern of the cells to run now, `variant/model/machine/seed`.
        execute: does the task in cells.

    Raises:
        UsageError: no cell fits the pattern.
        InterruptedRunError: Ctrl-C; the same call goes on.
        ModelError: a recipe's model cannot be written.
        StoreError: the folder cannot be written.
    """
    chosen = selected(grid, only)
    try:
        _build_models(grid, listener)
        _run(chosen, task, jobs, listener, execute)
    except KeyboardInterrupt as error:
        done = sum(state.outcome is not None for state in states(grid, task))
        raise InterruptedRunError(
            f"stopped; {done} of {len(grid.cells)} runs are finished, the same command goes on in '{grid.out}'"
        ) from error


def selected(grid: Grid, only: str) -> list[Cell]:
    """Return the cells that fit a pattern such as `*/resnet-50/*`; a star fits anything, slashes included.

    Args:
        grid: the cells.
        only: pattern of `variant/model/machine/seed`, by their names or by those of the folders.

    Raises:
        UsageError: no cell fits the pattern.
    """
    chosen = [cell for cell in grid.cells if any(fnmatchcase(name, only) for name in _names(cell, grid))]
    if not chosen:
        first = _names(grid.cells[0], grid)[0]
        raise UsageError(f"--only '{only}' fits no run of '{grid.name}'; the first one is '{first}'")
    return chosen


def _names(cell: Cell, grid: Grid) -> tuple[str, str]:
    """Return `variant/model/machine/seed` of a cell, as the user wrote them and as its folder is called."""
    return f"{cell.variant}/{cell.model}/{cell.machine}/{cell.seed}", cell.folder.relative_to(grid.out).as_posix()


def states(grid: Grid, task: Task[Outcome]) -> list[CellState[Outcome]]:
    """Return the states of all cells, by model, machine, variant and seed.

    Args:
        grid: the cells.
        task: the work of each, which reads the outcome.
    """
    order = {variant.name: number for number, variant in enumerate(grid.variants)}
    places = {key: i for i, key in enumerate(dict.fromkeys((cell.model, cell.machine) for cell in grid.cells))}
    cells = sorted(grid.cells, key=lambda cell: (places[cell.model, cell.machine], order[cell.variant]))
    return [read_state(cell, task) for cell in cells]


def _build_models(grid: Grid, listener: Listener) -> None:
    for number, model in enumerate(grid.models, start=1):
        if build_model(model, grid.out):
            listener(Progress("models", number, len(grid.models), f"built {model.label}"))


def _run(cells: Sequence[Cell], task: Task[Any], jobs: int, listener: Listener, execute: Execute) -> None:
    left = [cell for cell in cells if read_state(cell, task).outcome is None]
    done = len(cells) - len(left)
    listener(Progress("runs", done, len(cells), f"{done} of {len(cells)} are finished already"))

    def ended(cell: Cell, error: str) -> None:
        nonlocal done
        done += 1
        write_error(cell.folder, error)
        name = f"{cell.variant}, {cell.model}, {cell.machine}, seed {cell.seed}"
        listener(Progress("runs", done, len(cells), f"{name}{error and ': '}{error}"))

    execute(left, task, jobs, ended)
