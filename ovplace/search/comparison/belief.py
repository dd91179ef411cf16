"""The posterior of the latencies of placements: a joint Gaussian, sharpened by each measurement.

Source: Rasmussen and Williams, "Gaussian Processes for Machine Learning", 2006, equations 2.22 to 2.24.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ovplace.graphs.op_graph import FloatArray, IntArray

_JITTER = 1e-12
"""Variance added to the diagonal, far below any noise: covariances of nearly equal placements are singular."""


@dataclass(frozen=True, eq=False)
class Belief:
    """A joint Gaussian of the logarithms of latency ratios.

    Attributes:
        mean: expected logarithms, `[P]`.
        covariance: their covariance, `[P, P]`.
    """

    mean: FloatArray
    covariance: FloatArray

    def given(self, which: IntArray, values: FloatArray, noise: FloatArray) -> Belief:
        """Return the belief after measurements.

        Args:
            which: the placement of each measurement, `[M]`.
            values: measured logarithms, `[M]`.
            noise: covariance of their errors, `[M, M]`.
        """
        across = self.covariance[:, which]
        gain = np.linalg.solve(across[which] + noise, across.T).T
        covariance = self.covariance - gain @ across.T
        return Belief(self.mean + gain @ (values - self.mean[which]), (covariance + covariance.T) / 2)

    def draws(self, rng: np.random.Generator, count: int) -> FloatArray:
        """Return logarithms drawn from the belief, `[count, P]`.

        Args:
            rng: draws them.
            count: how many.
        """
        values, vectors = np.linalg.eigh(self.covariance + _JITTER * np.eye(len(self.mean)))
        factor = vectors * np.sqrt(np.maximum(values, 0.0))
        return np.asarray(self.mean + rng.standard_normal((count, len(self.mean))) @ factor.T)
