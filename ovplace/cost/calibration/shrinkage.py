"""The pull of a fit towards the profile, chosen by leave-one-out prediction."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

from ovplace.cost.calibration.left_out import LeftOut
from ovplace.cost.calibration.prior import EXACT, Prior, PriorScale
from ovplace.graphs.op_graph import FloatArray

NOISE = 0.03
"""Relative spread of a measurement about the model: what two compilations of one placement differ by."""

COMMON, SINGLE = (0.3, 1.0, 3.0), (0.0, 0.03, 0.1, 0.3, 1.0)
"""Relative standard deviations to choose from: of a factor on all costs of one kind, and of each cost by itself."""

TRIED = (
    EXACT,
    PriorScale(1.0, 0.0, 0.0),
    *(PriorScale(1.0, common, single) for common, single in product(COMMON, SINGLE)),
)
"""Scales to choose from."""

ONE_TRIAL = 1
"""Row of `TRIED` for a single trial, which nothing can be left out of: the overall factor alone."""

OUTLIER = 2.5
"""Trials off by more than this many typical errors count less, in proportion (Huber's weights)."""

SAMPLE = 512
"""Rows that choose among scales where there are more: the choice is of a few numbers, and each row takes O(P^2)."""


@dataclass(frozen=True, eq=False)
class Shrinkage:
    """The pull of a fit towards the profile.

    Attributes:
        prior_scale: standard deviations of the parameters about the profile.
        doubt: factor on the variance of each row, 1 for those that others predict, `[B]`.
    """

    prior_scale: PriorScale
    doubt: FloatArray

    def noise(self, variances: FloatArray) -> FloatArray:
        """Return the variances of rows with their doubt; there is none about rows added later, `[B]`.

        Args:
            variances: variance of each row by itself, `[B]`; those that the shrinkage was chosen for come first.
        """
        return np.asarray(variances * np.concatenate([self.doubt, np.ones(len(variances) - len(self.doubt))]))


def usual_noise(count: int) -> FloatArray:
    """Return the variance of the relative error of whole placements, `[count]`."""
    return np.full(count, NOISE**2)


def shrinkage_of(prior: Prior, rows: FloatArray, variances: FloatArray) -> Shrinkage:
    """Return the prior scale that predicts left-out rows best, and the doubt that suits each row.

    Chosen once with all rows as they are, then once more with those that nothing predicts counting less.

    Args:
        prior: the distribution of the parameters before any row.
        rows: terms that measure 1, `[B, P]`.
        variances: variance of each measurement, `[B]`.

    Cost: ten times that of `LeftOut.errors` for one deviation of single parameters.
    """
    left_out, everything = LeftOut(prior, rows), np.arange(len(rows))
    sample = np.linspace(0, len(rows) - 1, min(len(rows), SAMPLE)).astype(np.int64)
    typical, noise = np.sqrt(variances / NOISE**2), variances
    for _ in range(2):
        best = TRIED[_simplest(left_out.errors(TRIED, noise, sample) / typical[sample])]
        errors = left_out.errors([best], noise, everything)[0] / typical
        usual = max(float(np.median(errors)), NOISE)
        doubt = np.maximum(1.0, errors / (OUTLIER * usual))
        noise = variances * doubt
    return Shrinkage(best, doubt)


def _simplest(left_out: FloatArray) -> int:
    """Return the first row of errors `[S, B]` that none betters by more than chance.

    Chance is the spread of the differences, and a measurement's own noise, over the number of rows: with two or three
    rows, some choice of many always seems to be right.
    """
    count = left_out.shape[1]
    if count == 1:
        return ONE_TRIAL
    gains = left_out - left_out[left_out.mean(axis=1).argmin()]
    chance = (gains.std(axis=1, ddof=1) + NOISE) / count
    return int(np.argmax(gains.mean(axis=1) <= chance))
