"""Run a suite: its models are prepared, the optima found, and the searches made that are not finished."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks.report import ResultTable
from benchmarks.searches.answers import answers_table
from benchmarks.searches.controls import controls_table, searches_table
from benchmarks.searches.in_pool import in_pool
from benchmarks.searches.suite_file import Suite, as_data, read_suite
from benchmarks.searches.tables import compared, simulated, suite_tables
from benchmarks.searches.tasks import OPTIMUM, OUTCOME, TASKS, Data, optimum_folder, prepared, read_outcome
from ovplace.errors import OvplaceError
from ovplace.experiments.ablation import ablate
from ovplace.experiments.cell_state import CellState
from ovplace.experiments.grid import Cell, Grid, make_grid
from ovplace.experiments.markdown import header, notes, tables
from ovplace.experiments.models import build_model
from ovplace.experiments.run_grid import run_grid, selected, states
from ovplace.experiments.task import Task
from ovplace.experiments.variants import Variant
from ovplace.ir.prepare.prepare import prepare
from ovplace.session.events import Progress

SEARCH_OPTIONS = ("budgets", "comparisons", "spread", "failing")
OPTIMUM_OPTIONS = ("time_limit_s",)


def run_suite(
    file: Path, folder: Path, jobs: int, *, short: bool = False, only: str = "*", settings: Iterable[str] = ()
) -> list[ResultTable]:
    """Run what is not finished of a suite, and return its tables.

    Args:
        file: the suite.
        folder: of its runs.
        jobs: simulated runs at the same time.
        short: whether to run the small part of `[short]`.
        only: pattern of the runs to make now, `variant/model/machine/seed`.
        settings: `section.key=value` texts put over the base of all variants.

    Raises:
        OvplaceError: the suite is not understood, or runs failed.
    """
    suite, sections, changes = read_suite(file, short)
    grid = make_grid(sections, file, folder, [*changes, *settings])
    if suite.task == "run":
        return _whole_runs(suite, file.stem, grid, jobs, only)
    chosen = selected(grid, only)
    _prepare_models(grid)
    optima, searches = _optima(grid), _task(suite, TASKS[suite.task].__name__, SEARCH_OPTIONS)
    bounds = _task(suite, "optimum", OPTIMUM_OPTIONS)
    run_grid(replace(optima, cells=_same_places(optima, chosen)), bounds, jobs, show, execute=in_pool)
    run_grid(grid, searches, jobs, show, only, execute=in_pool)
    known, found = states(optima, bounds), states(grid, searches)
    _check([*known, *found])
    tables = suite_tables(suite, file.stem, finished(known), finished(found))
    outcomes, where = compared(suite, finished(known), finished(found)), simulated(finished(known))
    if suite.controls:
        raw = searches_table(suite, file.stem, outcomes, where)
        tables += [controls_table(suite, file.stem, raw), raw]
    if suite.comparisons:
        tables.append(answers_table(suite, file.stem, outcomes, where))
    return tables


def plan_suite(file: Path, short: bool) -> Grid:
    """Read and check a suite without running anything.

    Args:
        file: the suite.
        short: whether only the part of `[short]` is wanted.

    Raises:
        OvplaceError: the suite is not understood.
    """
    _, sections, changes = read_suite(file, short)
    return make_grid(sections, file, Path("runs"), changes)


def show(event: Progress) -> None:
    """Print one event of a suite."""
    print(f"{event.phase} {event.done}/{event.total} {event.text}", file=sys.stderr, flush=True)


def finished(found: Sequence[CellState[Data]]) -> list[tuple[Cell, Data]]:
    """Return the finished cells with their outcomes."""
    return [(state.cell, state.outcome) for state in found if state.outcome is not None]


def _whole_runs(suite: Suite, name: str, grid: Grid, jobs: int, only: str) -> list[ResultTable]:
    data = ablate(grid, jobs, show, only)
    failed = next((run for run in data["runs"] if run["status"] == "failed"), None)
    if failed:
        raise OvplaceError(f"{failed['variant']} on {failed['model']}: {failed['error']}; the same command tries again")
    note = " ".join([suite.note, *notes(data)]).strip()
    return [
        ResultTable(f"{name}-{number}", f"{suite.title}: {title}", header(data), tuple(rows), note)
        for number, (title, rows) in enumerate(tables(data["cells"]), start=1)
    ]


def _prepare_models(grid: Grid) -> None:
    for model in grid.models:
        build_model(model, grid.out)
        target = prepared(grid.out, model.file(grid.out))
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            prepare(model.file(grid.out), target)


def _optima(grid: Grid) -> Grid:
    """Return the grid of the optima: one cell for each model and machine."""
    cells = {(cell.model, cell.machine): cell for cell in reversed(grid.cells)}
    changed = [
        replace(
            cell,
            variant=OPTIMUM,
            seed=0,
            folder=optimum_folder(cell.folder),
            config=replace(cell.config, search=replace(cell.config.search, placer="single_device", seed=0), placer={}),
        )
        for cell in cells.values()
    ]
    return replace(grid, variants=(Variant(OPTIMUM, {}),), cells=tuple(changed))


def _same_places(optima: Grid, searches: Sequence[Cell]) -> tuple[Cell, ...]:
    """Return the cells of the models and machines of some searches."""
    places = {(cell.model, cell.machine) for cell in searches}
    return tuple(cell for cell in optima.cells if (cell.model, cell.machine) in places)


def _task(suite: Suite, function: str, options: Sequence[str]) -> Task[Data]:
    settings = {name: value for name, value in as_data(suite).items() if name in options}

    def read(folder: Path) -> Data | None:
        if not (folder / OUTCOME).exists():
            return None
        found = read_outcome(folder)
        if found["options"] != settings:
            raise ValueError("it was made with other options of the suite")
        return found

    return Task(f"benchmarks.searches.tasks:{function}", read, settings)


def _check(found: Sequence[CellState[Data]]) -> None:
    failed = [state for state in found if state.error]
    if failed:
        raise OvplaceError(f"{len(failed)} runs failed, the first one: {failed[0].cell.folder}: {failed[0].error}")
