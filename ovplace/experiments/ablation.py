"""An ablation: the searches of a grid, scored and compared in a table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ovplace.atomic import atomic_write, write_json
from ovplace.errors import InterruptedRunError, StoreError
from ovplace.experiments import score
from ovplace.experiments.cell_state import CellState
from ovplace.experiments.grid import Grid
from ovplace.experiments.markdown import markdown
from ovplace.experiments.run_grid import run_grid, states
from ovplace.experiments.summary import ScoredRun, comparison_rows
from ovplace.experiments.task import Task
from ovplace.report.ablation import FILE, SCHEMA
from ovplace.session.events import Listener, silent
from ovplace.store.run_folder import RunFolder

Data = dict[str, Any]


def read_scored_run(folder: Path) -> ScoredRun | None:
    """Return the score and the result that a run folder holds, None if the run is not finished.

    Raises:
        StoreError: the score or the result is damaged.
    """
    found = score.read_score(folder)
    if found is None:
        return None
    return ScoredRun(found, RunFolder(folder).read_result())


SEARCH = Task("ovplace.experiments.score:search_and_score", read_scored_run)
"""The task of an ablation's cells: a whole run, scored."""


def ablate(grid: Grid, jobs: int, listener: Listener = silent, only: str = "*") -> Data:
    """Run what is not finished; return what `ablation.json` holds.

    Args:
        grid: what to run.
        jobs: simulated runs at the same time.
        listener: called for each model that is built and each run that ends.
        only: pattern of the runs to make now, `variant/model/machine/seed`.

    Raises:
        UsageError: no run fits the pattern.
        InterruptedRunError: Ctrl-C; the same call goes on, and the table has what is finished.
        ModelError: a recipe's model cannot be written.
        StoreError: the folder cannot be written.
    """
    try:
        run_grid(grid, SEARCH, jobs, listener, only)
    except InterruptedRunError:
        table(grid)
        raise
    return table(grid)


def table(grid: Grid) -> Data:
    """Return what `ablation.json` holds of the runs that are there, and write it, with `ablation.md`.

    Raises:
        StoreError: the files cannot be written.
    """
    found = states(grid, SEARCH)
    data: Data = {
        "schema": SCHEMA,
        "name": grid.name,
        "folder": str(grid.out),
        "variants": {variant.name: variant.settings for variant in grid.variants},
        "cells": comparison_rows(found),
        "runs": [_run(state) for state in found],
    }
    try:
        grid.out.mkdir(parents=True, exist_ok=True)
        atomic_write(grid.out / "ablation.md", markdown(data))
    except OSError as error:
        raise StoreError(f"cannot write '{grid.out}': {error.strerror}; choose another folder with -o") from error
    write_json(grid.out / FILE, data)
    return data


def _run(state: CellState[ScoredRun]) -> Data:
    """Return one run as plain data."""
    cell, found = state.cell, state.outcome
    named = {"variant": cell.variant, "model": cell.model, "machine": cell.machine, "seed": cell.seed}
    status = "finished" if found else "failed" if state.error else "open"
    data: Data = {**named, "status": status, "error": state.error or None, "folder": str(cell.folder)}
    if found:
        result, search = found.result, found.result.search
        data |= {
            "simulated": result.environment.simulated,
            "latency_ms": found.score.latency_ms,
            "to_single": found.score.to_single,
            "found_to_single": found.score.found_to_single,
            "noise_free": found.score.noise_free,
            "verdict": result.verdict.status,
            "origin": result.best.origin,
            "ops_per_device": dict(result.best.ops_per_device),
            "measured": search.measured,
            "failed_trials": search.failed,
            "seconds": search.seconds.total,
            "placer_info": dict(search.placer_info) or None,
        }
    return data
