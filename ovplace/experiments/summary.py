"""The table of an ablation: each variant on each model and machine, over seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from math import sqrt
from numbers import Real
from typing import Any

import numpy as np

from ovplace.core.statistics import ratio_interval
from ovplace.experiments.plan import Run
from ovplace.experiments.progress import State
from ovplace.experiments.score import FASTER
from ovplace.experiments.variants import FULL

Data = dict[str, Any]


def cells(states: Sequence[State]) -> list[Data]:
    """Return one row for each model, machine and variant, as plain data.

    Args:
        states: of all runs, those of a model and machine beside each other.
    """
    return [
        cell
        for _, group in groupby(states, key=lambda state: (state.run.model, state.run.machine))
        for cell in _comparison(list(group))
    ]


def _comparison(states: Sequence[State]) -> list[Data]:
    """Return the rows of one model on one machine."""
    by_variant: dict[str, list[State]] = {}
    for state in states:
        by_variant.setdefault(state.run.variant, []).append(state)
    full = _by_seed(by_variant[FULL])
    return [_cell(of, full) for of in by_variant.values()]


def _by_seed(states: Sequence[State]) -> dict[int, float]:
    return {state.run.seed: state.score.to_single for state in states if state.score}


def _cell(states: Sequence[State], full: Mapping[int, float]) -> Data:
    run = states[0].run
    done = [(state.score, state.result) for state in states if state.score and state.result]
    scores, results = [score for score, _ in done], [result for _, result in done]
    own = _by_seed(states)
    paired = sorted(own.keys() & full.keys())
    return {
        "model": run.model,
        "machine": run.machine,
        "where": where(run, results),
        "variant": run.variant,
        "runs": len(states),
        "finished": len(done),
        "failed": sum(bool(state.error) for state in states),
        "faster": sum(result["verdict"]["status"] == FASTER for result in results),
        "noise_free": all(score.noise_free for score in scores) if scores else None,
        "latency_ms": mean([score.latency_ms for score in scores]),
        "to_full": None if run.variant == FULL else ratio([(own[seed], full[seed]) for seed in paired]),
        "to_single": ratio([(score.to_single, 1.0) for score in scores]),
        "found_to_single": ratio([(s.found_to_single, 1.0) for s in scores if s.found_to_single is not None]),
        "measured": _average([result["search"]["measured"] for result in results]),
        "info": info(results),
    }


def where(run: Run, results: Sequence[Data]) -> str:
    """Return the machine as people must see it: what is simulated or emulated is called that."""
    if run.simulated:
        return f"{run.machine} (simulated)"
    devices = results[0]["devices"] if results else []
    listed = ", ".join(f"{device['name']} (emulated)" if device["emulated"] else device["name"] for device in devices)
    return f"{run.machine}: {listed}" if listed else run.machine


def info(results: Sequence[Data]) -> dict[str, float]:
    """Return the mean of each number that the placer tells of itself."""
    found: dict[str, list[float]] = {}
    for result in results:
        for key, value in (result["search"].get("placer_info") or {}).items():
            if isinstance(value, Real):
                found.setdefault(key, []).append(float(value))
    return {key: float(np.mean(values)) for key, values in found.items()}


def mean(values: Sequence[float]) -> Data | None:
    """Return the mean with Student's 95 % interval; no interval of one value, None of none."""
    from scipy.special import stdtrit

    if len(values) < 2:
        return {"value": float(values[0]), "ci95": None} if values else None
    centre = float(np.mean(values))
    half = float(stdtrit(len(values) - 1, 0.975) * np.std(values, ddof=1) / sqrt(len(values)))
    return {"value": centre, "ci95": [centre - half, centre + half]}


def ratio(pairs: Sequence[tuple[float, float]]) -> Data | None:
    """Return the geometric mean of the pairs' ratios with Student's 95 % interval; of few pairs as `mean`."""
    if len(pairs) < 2:
        return mean([a / b for a, b in pairs])
    found = ratio_interval([np.array([a]) for a, _ in pairs], [np.array([b]) for _, b in pairs])
    return {"value": found.value, "ci95": [found.low, found.high]}


def _average(values: Sequence[float]) -> float | None:
    return float(np.mean(values)) if values else None
