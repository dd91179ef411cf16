"""The expected latencies of placements once a search has measured each of them.

The logarithm of a latency ratio is what the cost model says, plus what the model does not know of this placement, plus
the noise of the measurement. How far the costs may be off, each and together, and how much of a placement the model
does not know are those values of a small grid under which the search's measurements are the most likely (empirical
Bayes: Rasmussen and Williams, "Gaussian Processes for Machine Learning", 2006, section 5.4.1). Without a cost model
all placements are expected to be alike, and differ as much as the measurements say.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

from ovplace.core.cost_table import CostTable
from ovplace.cost.calibration.prior import Prior
from ovplace.cost.calibration.shrinkage import COMMON, SINGLE
from ovplace.cost.evaluate.design_matrix import design_matrix
from ovplace.graphs.op_graph import BoolArray, FloatArray, IntArray
from ovplace.search.comparison.belief import Belief

_COMMON, _SINGLE = (0.0, *COMMON), SINGLE
"""Relative errors of the costs to choose from, as in a fit: of all of one kind together, also none, and of each."""

_UNKNOWN = (0.005, 0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64)
"""Relative deviations of a placement from the model to choose from. The least is not 0: no model is exact."""

_LEVEL_VARIANCE = 1e4
"""Variance of the logarithm of a factor on all latencies. It is the reference's latency, as ratios are compared with
milliseconds of the model: no value of it may seem less likely than another."""


@dataclass(frozen=True, eq=False)
class Shape:
    """A prior of placements whose latencies the model knows: their errors under some errors of the costs.

    Attributes:
        covariance: covariance of the logarithms, `[P, P]`.
        variances: the eigenvalues of its part for the placements that count, `[C]`.
        squares: squared differences of what was measured from the mean, along the eigenvectors of that part, `[C]`.
    """

    covariance: FloatArray
    variances: FloatArray
    squares: FloatArray

    @classmethod
    def of(cls, covariance: FloatArray, off: FloatArray, counts: BoolArray) -> Shape:
        """Return the shape of a covariance.

        Args:
            covariance: covariance of the logarithms, `[P, P]`.
            off: differences of what was measured from the mean, `[P]`.
            counts: which of them say how likely the shape is, `[P]`.
        """
        variances, vectors = np.linalg.eigh(covariance[np.ix_(counts, counts)])
        return cls(covariance, np.maximum(variances, 0.0), (vectors.T @ off[counts]) ** 2)

    def log_likelihood(self, variance: float) -> float:
        """Return the log likelihood of what was measured, up to a constant, with `variance` added to each."""
        total = self.variances + variance
        return float(-0.5 * (self.squares / total + np.log(total)).sum())


class Expectation:
    """The expected latencies of placements that a search has measured once each."""

    def __init__(
        self,
        ratios: FloatArray,
        costs: CostTable | None = None,
        device_of: IntArray | None = None,
        disturbed: FloatArray | None = None,
    ) -> None:
        """Work out the shapes.

        Args:
            ratios: measured latency ratios, `[P]`; finite.
            costs: costs of the model's groups; None where the search had none.
            device_of: device of each group under each placement, `[P, G]`; None where the search had no costs.
            disturbed: standard deviation of what disturbances added to the logarithms of the ratios, `[P]`; None for
                nothing. Those that were disturbed have no say in how far costs and placements may be off.
        """
        self._values = np.log(ratios)
        self._disturbed = np.zeros(len(ratios)) if disturbed is None else disturbed
        model = _model(costs, device_of) if costs is not None and device_of is not None else None
        self._mean = model[0] if model else np.zeros(len(ratios))
        level = np.full((len(ratios), len(ratios)), _LEVEL_VARIANCE)
        covariances = [level]
        if model:
            _, kinds, own = model
            covariances = [level + common**2 * kinds + single**2 * own for common, single in product(_COMMON, _SINGLE)]
        quiet = self._disturbed == 0
        off, counts = self._values - self._mean, quiet if quiet.any() else ~quiet
        self._shapes = [Shape.of(covariance, off, counts) for covariance in covariances]

    def belief(self, noise: float) -> Belief:
        """Return what is believed, given the standard deviation of the logarithm of a measured ratio."""
        shape, unknown = max(
            product(self._shapes, _UNKNOWN), key=lambda tried: tried[0].log_likelihood(tried[1] ** 2 + noise**2)
        )
        each = np.eye(len(self._values))
        prior = Belief(self._mean, shape.covariance + unknown**2 * each)
        return prior.given(np.arange(len(self._values)), self._values, noise**2 * each + np.diag(self._disturbed**2))


def _model(costs: CostTable, device_of: IntArray) -> tuple[FloatArray, FloatArray, FloatArray] | None:
    """Return the model's logarithms `[P]`, and their covariances `[P, P]` for errors of kinds and of single costs.

    None where the table says that a placement cannot run: it did.
    """
    if not costs.runs(device_of).all():
        return None
    prior, counts = Prior.of(costs), design_matrix(costs, device_of)
    expected_ms = counts @ prior.mean
    if not (expected_ms > 0).all():
        return None
    rows = counts / expected_ms[:, None]
    kinds, own = rows @ prior.kinds, rows * prior.size
    return np.log(expected_ms), kinds @ kinds.T, own @ own.T
