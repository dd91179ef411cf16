"""Correcting a cost table by measured placements.

The fit is the most likely table under the prior about the profile (`prior.py`) and relative noise: ridge
regression towards the profile, in which common factors cost little and single parameters more. Parameters that would
turn negative are held at zero. The scale of the prior is chosen by leave-one-out prediction of the given trials.

Source: Rasmussen and Williams, "Gaussian Processes for Machine Learning", 2006: 2.1 (the linear model seen from its
predictions, so that work grows with the trials and not with the parameters), 5.12 (leave-one-out in closed form).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import product

import numpy as np

from ovplace.core.cost_table import CostTable
from ovplace.cost.calibration.prior import Prior, PriorScale
from ovplace.cost.evaluate.design_matrix import design_matrix, with_parameters
from ovplace.graphs.op_graph import FloatArray, IntArray

NOISE = 0.03
"""Relative spread of a measurement about the model: what two compilations of one placement differ by."""

TRIED = (
    PriorScale(0.0, 0.0, 0.0),
    PriorScale(1.0, 0.0, 0.0),
    *(PriorScale(1.0, common, single) for common, single in product((0.3, 1.0, 3.0), (0.0, 0.03, 0.1, 0.3, 1.0))),
)
"""Scales to choose from; the first leaves the profile as it is."""

ONE_TRIAL = 1
"""Row of `TRIED` for a single trial, which nothing can be left out of: the overall factor alone."""

OUTLIER = 2.5
"""Trials off by more than this many typical errors count less, in proportion (Huber's weights)."""

FOLDS = 5

PINNING_ROUNDS = 30
"""Rounds of pinning parameters at zero; a handful is usual."""


@dataclass(frozen=True)
class Agreement:
    """The agreement of predictions with measurements.

    Attributes:
        spearman: correlation of the ranks; 0 where all predictions or all measurements are equal.
        mape: mean of the absolute relative errors, 0.1 for 10 %.
        n: number of placements compared.
    """

    spearman: float
    mape: float
    n: int


@dataclass(frozen=True, eq=False)
class Fit:
    """A corrected table with its prediction errors.

    Attributes:
        table: the corrected costs.
        n_trials: trials it was fitted to: those that did not fail.
        held_back: agreement with each trial of a fit to the others; None for less than two trials.
        before: agreement of the given table with the same trials; None without any.
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

    Cost: O(B^3 + B P) for B trials and P parameters, a few dozen times.
    """
    used = _used(table, device_of, latency_ms)
    if not len(used):
        return Fit(table, 0, None, None)
    measured = np.asarray(latency_ms, dtype=np.float64)[used]
    prior, counts = Prior.of(table), design_matrix(table, device_of[used])
    held_back = agreement(_held_back(prior, counts, measured), measured) if len(used) > 1 else None
    vector = _fitted(prior, counts, measured)
    before = agreement(counts @ prior.mean, measured)
    return Fit(with_parameters(table, vector), len(used), held_back, before)


@dataclass(frozen=True, eq=False)
class Shrinkage:
    """The pull of a fit towards the profile.

    Attributes:
        prior_scale: standard deviations of the parameters about the profile.
        noise: variance of the relative error of each trial, `[B]`.
    """

    prior_scale: PriorScale
    noise: FloatArray


def choose_shrinkage(table: CostTable, device_of: IntArray, latency_ms: FloatArray) -> Shrinkage | None:
    """Return the shrinkage that `fit` would choose for these trials, which is nearly all of its work.

    Args:
        table: the costs as profiled.
        device_of: device of each group under each placement, `[B, G]`.
        latency_ms: measured latencies, `[B]`; infinite for failures.

    Returns:
        The shrinkage; None where all trials failed.
    """
    used = _used(table, device_of, latency_ms)
    return _shrinkage(Prior.of(table), _rows(table, device_of[used], latency_ms[used])) if len(used) else None


def refit(table: CostTable, device_of: IntArray, latency_ms: FloatArray, shrinkage: Shrinkage | None) -> CostTable:
    """Return the table of `fit` with a given shrinkage, for a search that fits after each measurement.

    Args:
        table: the costs as profiled.
        device_of: device of each group under each placement, `[B, G]`.
        latency_ms: measured latencies, `[B]`; infinite for failures.
        shrinkage: chosen for the same trials or the first of them; later ones get the usual noise. None keeps the
            table.
    """
    used = _used(table, device_of, latency_ms)
    if shrinkage is None:
        return table
    later = np.full(len(used) - len(shrinkage.noise), NOISE**2)
    longer = Shrinkage(shrinkage.prior_scale, np.concatenate([shrinkage.noise, later]))
    rows = _rows(table, device_of[used], latency_ms[used])
    return with_parameters(table, _not_negative(Prior.of(table), rows, longer))


def _used(table: CostTable, device_of: IntArray, latency_ms: FloatArray) -> IntArray:
    """Return the trials that neither failed nor have a group where the table says it cannot run."""
    runs = np.isfinite(table.group_ms[np.arange(table.n_groups), device_of]).all(axis=1)
    return np.flatnonzero(np.isfinite(latency_ms) & runs).astype(np.int64)


def agreement(predicted: FloatArray, measured: FloatArray) -> Agreement:
    """Return the agreement of predictions with measurements.

    Args:
        predicted: predicted latencies, `[B]`; finite.
        measured: measured latencies, `[B]`; finite and positive.
    """
    a, b = _ranks(predicted), _ranks(measured)
    varied = a.std() > 0 and b.std() > 0
    return Agreement(
        spearman=float(np.corrcoef(a, b)[0, 1]) if varied else 0.0,
        mape=float(np.abs(predicted / measured - 1).mean()),
        n=len(measured),
    )


def _ranks(values: FloatArray) -> FloatArray:
    """Return the rank of each value, equal values sharing the mean of theirs."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(counts) - (counts - 1) / 2)[inverse])


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
    return _not_negative(prior, rows, _shrinkage(prior, rows))


def _rows(table: CostTable, device_of: IntArray, latency_ms: FloatArray) -> FloatArray:
    """Return the terms of each trial over its latency: each now measures 1, since relative errors are what counts."""
    return np.asarray(design_matrix(table, device_of) / np.asarray(latency_ms, dtype=np.float64)[:, None])


def _shrinkage(prior: Prior, rows: FloatArray) -> Shrinkage:
    """Return the prior scale that predicts left-out trials best, and the variance `[B]` that suits each trial.

    Chosen once with all trials alike, then once more with those that nothing predicts counting less.
    """
    error = 1 - rows @ prior.mean
    noise = np.full(len(rows), NOISE**2)
    together, kinds, own = (_gram(rows @ prior.mean[:, None]), _gram(rows @ prior.kinds), _gram(rows * prior.size))
    kernels = [s.overall**2 * together + s.common**2 * kinds + s.single**2 * own for s in TRIED]
    for _ in range(2):
        left_out = np.abs([_left_out(kernel + np.diag(noise), error) for kernel in kernels])
        best = _simplest(left_out)
        usual = max(float(np.median(left_out[best])), NOISE)
        noise = NOISE**2 * np.maximum(1.0, left_out[best] / (OUTLIER * usual))
    return Shrinkage(TRIED[best], noise)


def _simplest(left_out: FloatArray) -> int:
    """Return the first row of errors `[S, B]` that none betters by more than chance.

    Chance is a standard error of the difference, and a measurement's own noise: with two or three trials, some
    choice of many always seems to be right.
    """
    count = left_out.shape[1]
    if count == 1:
        return ONE_TRIAL
    gains = left_out - left_out[left_out.mean(axis=1).argmin()]
    chance = (gains.std(axis=1, ddof=1) + NOISE) / count
    return int(np.argmax(gains.mean(axis=1) <= chance))


def _gram(matrix: FloatArray) -> FloatArray:
    return np.asarray(matrix @ matrix.T)


def _left_out(kernel: FloatArray, error: FloatArray) -> FloatArray:
    """Return the error at each trial of the fit to all others, `[B]`, from the covariance of all `[B, B]`."""
    inverse = np.linalg.inv(kernel)
    return np.asarray(inverse @ error / np.diag(inverse))


def _not_negative(prior: Prior, rows: FloatArray, shrinkage: Shrinkage) -> FloatArray:
    """Return the most likely parameters `[P]` that are not negative.

    Those that turn negative are pinned at zero, as if measured there, and released when the pin no longer holds
    them up.
    """
    pinned = np.zeros(len(prior.mean), dtype=bool)
    for _ in range(PINNING_ROUNDS):
        vector, force = _posterior(prior, rows, shrinkage, np.flatnonzero(pinned))
        negative = ~pinned & (vector < 0)
        released = np.zeros_like(pinned)
        released[pinned] = force < 0
        if not negative.any() and not released.any():
            break
        pinned = (pinned | negative) & ~released
    return np.maximum(vector, 0.0)


def _posterior(prior: Prior, rows: FloatArray, shrinkage: Shrinkage, pinned: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return the most likely parameters `[P]` with some pinned at zero, and the force on each pin, up positive."""
    pins = np.eye(len(prior.mean))[pinned]
    seen = np.concatenate([rows, pins])
    wanted = np.concatenate([np.ones(len(rows)), np.zeros(len(pins))]) - seen @ prior.mean
    spread = prior.covariance_times(seen.T, shrinkage.prior_scale)
    kernel = seen @ spread
    tight = 1e-9 * np.diag(kernel)[len(rows) :]
    weights = np.linalg.solve(kernel + np.diag(np.concatenate([shrinkage.noise, tight])), wanted)
    return prior.mean + spread @ weights, np.asarray(weights[len(rows) :])
