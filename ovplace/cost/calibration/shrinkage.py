"""How far measurements may pull the parameters from the profile: chosen by leave-one-out prediction."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

import numpy as np

from ovplace.cost.calibration.gaussian import FromSums, Information
from ovplace.cost.calibration.prior import Prior, PriorScale
from ovplace.graphs.op_graph import FloatArray

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


@dataclass(frozen=True, eq=False)
class Shrinkage:
    """The pull of a fit towards the profile.

    Attributes:
        prior_scale: standard deviations of the parameters about the profile.
        noise: variance of the relative error of each trial, `[B]`.
    """

    prior_scale: PriorScale
    noise: FloatArray

    def for_trials(self, count: int) -> FloatArray:
        """Return the variances of the first `count` trials, `[count]`; those it was not chosen for get the usual."""
        later = np.full(max(0, count - len(self.noise)), NOISE**2)
        return np.concatenate([self.noise[:count], later])


def shrinkage_of(prior: Prior, rows: FloatArray) -> Shrinkage:
    """Return the prior scale that predicts left-out trials best, and the variance `[B]` that suits each trial.

    Chosen once with all trials alike, then once more with those that nothing predicts counting less.

    Args:
        prior: the distribution of the parameters before any trial.
        rows: terms of each trial that measure 1, `[B, P]`.

    Cost: O(B^3) for B trials and P parameters, or O(B P^2) where that is less, a few dozen times.
    """
    noise = np.full(len(rows), NOISE**2)
    left_out_of = _by_sums(prior, rows) if len(rows) > rows.shape[1] else _by_rows(prior, rows)
    for _ in range(2):
        left_out = np.abs(left_out_of(noise))
        best = _simplest(left_out)
        usual = max(float(np.median(left_out[best])), NOISE)
        noise = NOISE**2 * np.maximum(1.0, left_out[best] / (OUTLIER * usual))
    return Shrinkage(TRIED[best], noise)


_LeftOut = Callable[[FloatArray], FloatArray]
"""The error at each trial of the fit to all others under each scale tried `[S, B]`, from the variances `[B]`."""


def _by_rows(prior: Prior, rows: FloatArray) -> _LeftOut:
    """Return left-out errors from the covariance of the trials."""
    error = 1 - rows @ prior.mean
    together, kinds, own = (_gram(rows @ prior.mean[:, None]), _gram(rows @ prior.kinds), _gram(rows * prior.size))
    kernels = [s.overall**2 * together + s.common**2 * kinds + s.single**2 * own for s in TRIED]

    def left_out(noise: FloatArray) -> FloatArray:
        inverses = (np.linalg.inv(kernel + np.diag(noise)) for kernel in kernels)
        return np.array([inverse @ error / np.diag(inverse) for inverse in inverses])

    return left_out


def _gram(matrix: FloatArray) -> FloatArray:
    return np.asarray(matrix @ matrix.T)


def _by_sums(prior: Prior, rows: FloatArray) -> _LeftOut:
    """Return left-out errors from the covariance of the parameters."""

    def left_out(noise: FloatArray) -> FloatArray:
        sums = Information.of(rows, noise)
        fits = (FromSums(prior, scale, sums) for scale in TRIED)
        return np.array([(1 - rows @ fit.mean) / (1 - fit.variances(rows) / noise) for fit in fits])

    return left_out


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
