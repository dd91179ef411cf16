"""Correcting a cost table by measured placements.

The fit is the most likely table under the prior about the profile (`prior.py`) and relative noise: ridge
regression towards the profile, in which common factors cost little and single parameters more. Parameters that would
turn negative are held at zero. The scale of the prior is chosen by leave-one-out prediction of the given trials.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ovplace.core.cost_table import CostTable
from ovplace.cost.calibration.agreement import Agreement, agreement
from ovplace.cost.calibration.gaussian import given
from ovplace.cost.calibration.prior import Prior
from ovplace.cost.calibration.shrinkage import shrinkage_of, usual_noise
from ovplace.cost.evaluate.design_matrix import design_matrix, with_parameters
from ovplace.graphs.op_graph import BoolArray, FloatArray, IntArray

FOLDS = 5
"""Parts of the trials, each of which is predicted by a fit to the others."""


@dataclass(frozen=True, eq=False)
class Fit:
    """A corrected table with its prediction errors.

    Attributes:
        table: the corrected costs.
        n_trials: trials it was fitted to: those that did not fail.
        held_back: agreement with each trial of a fit to the others; None for less than two trials.
        before: agreement of the given table with the same trials; None for less than two.
    """

    table: CostTable = field(repr=False)
    n_trials: int
    held_back: Agreement | None
    before: Agreement | None


def fit(table: CostTable, device_of: IntArray, latency_ms: FloatArray) -> Fit:
    """Return `table` with its group times, savings, links and overheads corrected by measured placements.

    Args:
        table: the costs as profiled.
        device_of: device of each group under each placement, `[B, G]`.
        latency_ms: measured latencies, `[B]`; infinite for failures, which are left out.

    Cost: that of `shrinkage_of`, once for all trials and once for each of `FOLDS` parts of them.
    """
    used = usable(table, device_of, latency_ms)
    if not used.any():
        return Fit(table, 0, None, None)
    measured = np.asarray(latency_ms, dtype=np.float64)[used]
    prior, counts = Prior.of(table), design_matrix(table, device_of[used])
    fitted = with_parameters(table, _fitted(prior, counts, measured))
    if len(measured) < 2:
        return Fit(fitted, len(measured), None, None)
    held_back = agreement(_held_back(prior, counts, measured), measured)
    return Fit(fitted, len(measured), held_back, agreement(counts @ prior.mean, measured))


def usable(table: CostTable, device_of: IntArray, latency_ms: FloatArray) -> BoolArray:
    """Return which trials neither failed nor have a group where the table says it cannot run, `[B]`.

    Args:
        table: the costs as profiled.
        device_of: device of each group under each placement, `[B, G]`.
        latency_ms: measured latencies, `[B]`; infinite for failures.
    """
    return np.asarray(np.isfinite(latency_ms) & table.runs(device_of))


def _held_back(prior: Prior, counts: FloatArray, measured: FloatArray) -> FloatArray:
    """Return what fits to the other folds predict for each trial, `[B]`."""
    fold = np.arange(len(measured)) % FOLDS
    predicted = np.empty(len(measured))
    for number in np.unique(fold):
        held = fold == number
        predicted[held] = counts[held] @ _fitted(prior, counts[~held], measured[~held])
    return predicted


def _fitted(prior: Prior, counts: FloatArray, measured: FloatArray) -> FloatArray:
    """Return the corrected parameters, `[P]`."""
    rows = counts / measured[:, None]
    variances = usual_noise(len(rows))
    shrinkage = shrinkage_of(prior, rows, variances)
    return given(prior, shrinkage.prior_scale, rows, shrinkage.noise(variances)).not_negative()
