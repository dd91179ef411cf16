"""What a fitted cost model says about the latency of placements, and how sure it is.

The spread comes from the prior about the profile, the measured rows and their noise. The mean of a fit depends on the
ratio of prior to noise only; their common size is estimated from how far left-out trials are off, so that intervals
hold as much as they say.

Source: Rasmussen and Williams, "Gaussian Processes for Machine Learning", 2006: 2.1 (predictions of the linear model),
5.12 (left-out predictions with their variances).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ovplace.core.cost_table import CostTable
from ovplace.cost.calibration.fit import usable
from ovplace.cost.calibration.gaussian import Gaussian, given
from ovplace.cost.calibration.prior import Prior, PriorScale
from ovplace.cost.calibration.shrinkage import NOISE, shrinkage_of, usual_noise
from ovplace.cost.evaluate.design_matrix import design_matrix, with_parameters
from ovplace.cost.evaluate.latency import latency_ms as model_ms
from ovplace.graphs.op_graph import FloatArray, IntArray

LEAST_SCALE = PriorScale(1.0, 0.3, 0.1)
"""The prior is taken to be at least so wide: few trials that agree with the profile do not make it exact."""

USUAL = 5
"""The size of prior and noise is worth so many trials before any was left out."""


@dataclass(frozen=True, eq=False)
class Prediction:
    """Predicted latencies of placements.

    Attributes:
        mean_ms: the latency under the fitted costs, `[B]`; infinite where a group cannot run.
        sd_ms: standard deviation of the latency about the mean, without the noise of measuring, `[B]`; 0 where
            the mean is infinite.
        noise_ms: standard deviation of a measurement about the latency, `[B]`: independent of `sd_ms`.
    """

    mean_ms: FloatArray
    sd_ms: FloatArray
    noise_ms: FloatArray


@dataclass(frozen=True, eq=False)
class Posterior:
    """The costs of a model, fitted to measured placements, with their uncertainty.

    Attributes:
        table: the fitted costs: those of `fit` for the same trials.
        gaussian: the distribution of their parameters.
        size: factor on the standard deviations of prior and noise, by which left-out trials are off as far as they
            should.
    """

    table: CostTable = field(repr=False)
    gaussian: Gaussian = field(repr=False)
    size: float

    @classmethod
    def of(cls, table: CostTable, device_of: IntArray, latency_ms: FloatArray) -> Posterior:
        """Return the costs fitted to measured placements.

        Args:
            table: the costs as profiled.
            device_of: device of each group under each placement, `[B, G]`.
            latency_ms: measured latencies, `[B]`; infinite for failures, which are left out.
        """
        used = usable(table, device_of, latency_ms)
        prior, measured = Prior.of(table), np.asarray(latency_ms, dtype=np.float64)[used]
        rows = design_matrix(table, device_of[used]) / measured[:, None]
        if not len(rows):
            return cls(table, given(prior, LEAST_SCALE, rows, np.zeros(0)), 1.0)
        shrinkage = shrinkage_of(prior, rows, usual_noise(len(rows)))
        noise = shrinkage.noise(usual_noise(len(rows)))
        mean = given(prior, shrinkage.prior_scale, rows, noise).not_negative()
        gaussian = given(prior, _at_least(shrinkage.prior_scale), rows, noise)
        return cls(with_parameters(table, mean), gaussian, _size(gaussian, rows, noise))

    def predict(self, device_of: IntArray) -> Prediction:
        """Return the predicted latencies of placements.

        Args:
            device_of: device of each group under each placement, `[B, G]`.

        Cost: O(B P^2) for P parameters.
        """
        mean = model_ms(self.table, device_of)
        works = np.isfinite(mean)
        sd, noise = np.zeros((2, len(mean)))
        sd[works] = self.size * np.sqrt(self.gaussian.variances(design_matrix(self.table, device_of[works])))
        noise[works] = self.size * NOISE * mean[works]
        return Prediction(mean, sd, noise)


def _at_least(scale: PriorScale) -> PriorScale:
    least = LEAST_SCALE
    return PriorScale(*(max(getattr(scale, f), getattr(least, f)) for f in ("overall", "common", "single")))


def _size(gaussian: Gaussian, rows: FloatArray, noise: FloatArray) -> float:
    """Return the factor by which left-out trials are off, as a root mean square of what they should be."""
    left_in = 1 - gaussian.variances(rows) / noise
    squares = (1 - rows @ gaussian.mean) ** 2 / (noise * left_in)
    return float(np.sqrt((USUAL + squares.sum()) / (USUAL + len(squares))))
