"""The table of an ablation: each variant on each model and machine, over seeds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from math import sqrt
from typing import Any

import numpy as np

from ovplace.core.result.run_result import RunResult
from ovplace.core.statistics import ratio_interval
from ovplace.experiments.cell_state import CellState
from ovplace.experiments.grid import Cell
from ovplace.experiments.score import RunScore

Data = dict[str, Any]


@dataclass(frozen=True)
class ScoredRun:
    """A finished run.

    Attributes:
        score: what it came to.
        result: its result.
    """

    score: RunScore
    result: RunResult


State = CellState[ScoredRun]


def comparison_rows(states: Sequence[State]) -> list[Data]:
    """Return one row for each model, machine and variant, as plain data.

    Args:
        states: of all runs, those of a model and machine next to each other, the variant that changes nothing first.
    """
    return [
        row
        for _, group in groupby(states, key=lambda state: (state.cell.model, state.cell.machine))
        for row in _comparison(list(group))
    ]


def _comparison(states: Sequence[State]) -> list[Data]:
    """Return the rows of one model on one machine."""
    by_variant: dict[str, list[State]] = {}
    for state in states:
        by_variant.setdefault(state.cell.variant, []).append(state)
    full = next(iter(by_variant.values()))
    return [_row(of, full) for of in by_variant.values()]


def _by_seed(states: Sequence[State]) -> dict[int, float]:
    return {state.cell.seed: state.outcome.score.to_single for state in states if state.outcome}


def _row(states: Sequence[State], full: Sequence[State]) -> Data:
    cell = states[0].cell
    done = [state.outcome for state in states if state.outcome]
    scores, results = [run.score for run in done], [run.result for run in done]
    own, base = _by_seed(states), _by_seed(full)
    paired = sorted(own.keys() & base.keys())
    return {
        "model": cell.model,
        "machine": cell.machine,
        "where": machine_title(cell, results),
        "variant": cell.variant,
        "runs": len(states),
        "finished": len(done),
        "failed": sum(bool(state.error) for state in states),
        "faster": sum(result.is_faster for result in results),
        "noise_free": all(score.noise_free for score in scores) if scores else None,
        "latency_ms": mean_summary([score.latency_ms for score in scores]),
        "to_full": None if states is full else ratio_summary([(own[seed], base[seed]) for seed in paired]),
        "to_single": ratio_summary([(score.to_single, 1.0) for score in scores]),
        "found_to_single": ratio_summary([(s.found_to_single, 1.0) for s in scores if s.found_to_single is not None]),
        "measured": _average([result.search.measured for result in results]),
        "info": placer_info(results),
    }


def machine_title(cell: Cell, results: Sequence[RunResult]) -> str:
    """Return the machine's name with what is simulated or emulated called that.

    Args:
        cell: a run on the machine.
        results: of its runs that are finished; they name real devices.
    """
    if cell.simulated:
        return f"{cell.machine} (simulated)"
    devices = results[0].devices if results else []
    listed = ", ".join(f"{device.name} (emulated)" if device.emulated else device.name for device in devices)
    return f"{cell.machine}: {listed}" if listed else cell.machine


def placer_info(results: Sequence[RunResult]) -> dict[str, float]:
    """Return the mean of each number that the placer reports of itself."""
    found: dict[str, list[float]] = {}
    for result in results:
        for key, value in result.search.placer_info.items():
            found.setdefault(key, []).append(float(value))
    return {key: float(np.mean(values)) for key, values in found.items()}


def mean_summary(values: Sequence[float]) -> Data | None:
    """Return the mean with Student's 95 % interval; no interval of one value, None of none."""
    from scipy.special import stdtrit

    if len(values) < 2:
        return {"value": float(values[0]), "ci95": None} if values else None
    centre = float(np.mean(values))
    half = float(stdtrit(len(values) - 1, 0.975) * np.std(values, ddof=1) / sqrt(len(values)))
    return {"value": centre, "ci95": [centre - half, centre + half]}


def ratio_summary(pairs: Sequence[tuple[float, float]]) -> Data | None:
    """Return the geometric mean of the pairs' ratios with Student's 95 % interval; of fewer than two, their mean."""
    if len(pairs) < 2:
        return mean_summary([a / b for a, b in pairs])
    found = ratio_interval([np.array([a]) for a, _ in pairs], [np.array([b]) for _, b in pairs])
    return {"value": found.value, "ci95": [found.low, found.high]}


def _average(values: Sequence[float]) -> float | None:
    return float(np.mean(values)) if values else None
