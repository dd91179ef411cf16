"""The cost model against what was measured."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite

import numpy as np

from ovplace.cost.calibration.agreement import agreement
from ovplace.cost.evaluate.latency import latency_ms
from ovplace.report.evidence import Evidence


@dataclass(frozen=True)
class PredictionSection:
    """Predicted and measured latencies of the trials, `[P]` each.

    Attributes:
        trial: number of the trial.
        predicted_ms: by the cost model, before any trial.
        measured_ms: ratio to the reference, measured in turns, times the reference's usual latency.
        spearman: correlation of the ranks.
        mape: mean of the absolute relative errors.
    """

    trial: tuple[int, ...]
    predicted_ms: tuple[float, ...]
    measured_ms: tuple[float, ...]
    spearman: float
    mape: float


def prediction_section(evidence: Evidence) -> PredictionSection | None:
    """Return predictions and measurements; None where the run has no cost table, or fewer than two trials have both.

    A trial that ran has no prediction where one of its groups failed as it was profiled alone.
    """
    if evidence.costs is None:
        return None
    usable = {
        trial.placement.hash: (trial, choice)
        for trial in evidence.trials
        if isfinite(trial.ratio) and (choice := evidence.run.device_of_groups(trial.placement)) is not None
    }
    if not usable:
        return None
    trials = [trial for trial, _ in usable.values()]
    predicted = latency_ms(evidence.costs, np.stack([choice for _, choice in usable.values()]))
    finite = np.isfinite(predicted)
    if finite.sum() < 2:
        return None
    ratios = np.array([trial.ratio for trial in trials])
    measured = ratios * np.median(np.array([trial.measurement.median_ms for trial in trials]) / ratios)
    found = agreement(predicted[finite], measured[finite])
    return PredictionSection(
        trial=tuple(trial.number for trial, ran in zip(trials, finite.tolist(), strict=True) if ran),
        predicted_ms=tuple(predicted[finite].tolist()),
        measured_ms=tuple(measured[finite].tolist()),
        spearman=found.spearman,
        mape=found.mape,
    )
