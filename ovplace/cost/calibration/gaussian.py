"""The Gaussian of a cost table's parameters, given rows that each measure 1.

Two forms of the same: from the rows themselves, whose work grows with their number B, and from sums over them, whose
work grows with the number of parameters P only. `given` takes the smaller one.

Sources: Rasmussen and Williams, "Gaussian Processes for Machine Learning", 2006, 2.1 (both forms of the linear model)
and A.9 (Woodbury's identity); Hoffman and Ribak, "Constrained realizations of Gaussian fields", 1991 (draws given rows,
from draws of the prior).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from ovplace.cost.calibration.prior import Prior, PriorScale
from ovplace.graphs.op_graph import FloatArray, IntArray

PINNING_ROUNDS = 100
"""Rounds of pinning parameters at zero; a handful is usual."""

PATIENCE = 3
"""Rounds without progress after which one parameter is pinned or released at a time: all at once may go in circles."""

_MANY = 500
"""Pins from which on their covariance is not formed where rows are few: for 6,585 pins of a model of 2,048 groups that
took twelve seconds and two gigabytes. For fewer pins it takes milliseconds, and is more exact."""

_TIGHT = 1e-9
"""Variance of a pin, as a part of the parameter's variance under the prior."""


@dataclass(frozen=True, eq=False)
class Information:
    """Sums over rows, which are all that a fit needs of them.

    Attributes:
        matrix: sum of the products of each row with itself, over its variance, `[P, P]`.
        vector: sum of the rows, over their variances, `[P]`.
    """

    matrix: FloatArray
    vector: FloatArray

    @classmethod
    def of(cls, rows: FloatArray, noise: FloatArray) -> Information:
        """Return the sums over rows.

        Args:
            rows: terms that measure 1, `[B, P]`.
            noise: variance of each measurement, `[B]`.
        """
        weighted = rows / noise[:, None]
        return cls(rows.T @ weighted, weighted.sum(axis=0))

    def __add__(self, other: Information) -> Information:
        """Return the sums over the rows of both."""
        return Information(self.matrix + other.matrix, self.vector + other.vector)

    def __sub__(self, other: Information) -> Information:
        """Return the sums without the rows of the other."""
        return Information(self.matrix - other.matrix, self.vector - other.vector)

    def over(self, factor: float) -> Information:
        """Return the sums over the same rows, each divided by `factor`."""
        return Information(self.matrix / factor**2, self.vector / factor)


class Gaussian(ABC):
    """The distribution of the parameters.

    Attributes:
        prior: the distribution before anything was measured.
        scale: standard deviations of the prior.
        mean: the most likely parameters, which may be negative, `[P]`.
    """

    mean: FloatArray

    def __init__(self, prior: Prior, scale: PriorScale) -> None:
        """Keep the prior.

        Args:
            prior: the distribution before anything was measured.
            scale: standard deviations of the prior.
        """
        self.prior, self.scale = prior, scale
        self._covariances: dict[int, FloatArray] = {}  # of each parameter with all, `[P]`, once it was pinned

    @abstractmethod
    def covariance_times(self, matrix: FloatArray) -> FloatArray:
        """Return the product of the covariance `[P, P]` and a matrix `[P, M]`."""

    @abstractmethod
    def drawn(self, rng: np.random.Generator) -> FloatArray:
        """Return parameters drawn from the distribution, which may be negative, `[P]`."""

    def not_negative(self, free: FloatArray | None = None) -> FloatArray:
        """Return parameters with none negative, `[P]`.

        Those that turn negative are pinned at zero, as if measured there, and released when the pin no longer holds
        them up. The others change with them as they are correlated, so that what was measured still holds.

        Source: Kim and Park, "Fast nonnegative matrix factorization: an active-set-like method and comparisons", SIAM
        Journal on Scientific Computing 33, 2011, section 4 (block principal pivoting).

        Args:
            free: the parameters to start from, which may be negative, `[P]`; the most likely ones by default.
        """
        free = self.mean if free is None else free
        pinned = np.zeros(len(free), dtype=bool)
        fewest, patience = len(free) + 1, PATIENCE
        for _ in range(PINNING_ROUNDS):
            vector, force = free, np.zeros(len(free))
            if pinned.any():
                vector, force[pinned] = self._held(free, np.flatnonzero(pinned))
            wrong = np.flatnonzero(np.where(pinned, force, vector) < 0)
            if not len(wrong):
                break
            patience = PATIENCE if len(wrong) < fewest else patience - 1
            fewest = min(fewest, len(wrong))
            pinned[wrong if patience > 0 else wrong[-1:]] ^= True
        return np.maximum(vector, 0.0)

    def _held(self, free: FloatArray, pinned: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return `free` as it is with some parameters pinned at zero `[P]`, and the force on each pin, up positive."""
        spread = self._covariances_of(pinned)
        tight = _TIGHT * self.prior.variances(self.scale)[pinned]
        force = np.asarray(np.linalg.solve(spread[pinned] + np.diag(tight), -free[pinned]), dtype=np.float64)
        return free + spread @ force, force

    def _covariances_of(self, pinned: IntArray) -> FloatArray:
        """Return the covariances of all parameters with some, `[P, M]`: draws in series pin mostly the same."""
        if missing := [i for i in pinned.tolist() if i not in self._covariances]:
            pins = np.eye(len(self.prior.mean))[:, missing]
            self._covariances.update(zip(missing, self.covariance_times(pins).T, strict=True))
        return np.array([self._covariances[i] for i in pinned.tolist()]).T


class FromRows(Gaussian):
    """The distribution from the rows themselves: O(B^3 + B P)."""

    def __init__(self, prior: Prior, scale: PriorScale, rows: FloatArray, noise: FloatArray) -> None:
        """Solve for the mean.

        Args:
            prior: the distribution before.
            scale: standard deviations of the prior.
            rows: terms that measure 1, `[B, P]`.
            noise: variance of each measurement, `[B]`.
        """
        super().__init__(prior, scale)
        self._rows, self._noise, self._spread = rows, noise, prior.covariance_times(rows.T, scale)
        self._kernel = rows @ self._spread + np.diag(noise)
        self.mean = prior.mean + self._spread @ np.linalg.solve(self._kernel, 1 - rows @ prior.mean)

    def covariance_times(self, matrix: FloatArray) -> FloatArray:
        """Return the product of the covariance `[P, P]` and a matrix `[P, M]`."""
        before = self.prior.covariance_times(matrix, self.scale)
        return np.asarray(before - self._spread @ np.linalg.solve(self._kernel, self._rows @ before))

    def drawn(self, rng: np.random.Generator) -> FloatArray:
        """Return parameters drawn from the distribution, which may be negative, `[P]`."""
        before = self.prior.drawn(rng, self.scale)
        measured = 1 + np.sqrt(self._noise) * rng.standard_normal(len(self._noise))
        return np.asarray(before + self._spread @ np.linalg.solve(self._kernel, measured - self._rows @ before))

    def _held(self, free: FloatArray, pinned: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return the parameters with some pinned, and the forces on the pins: of many pins by Woodbury's identity.

        The covariance is diagonal but for the directions of common change, and of what the rows measure.
        """
        common = 1 + self.prior.kinds.shape[1]
        count = common + len(self._rows)
        if self.scale.single == 0.0 or len(pinned) < max(_MANY, 2 * count):
            return super()._held(free, pinned)
        directions = np.concatenate([self.prior.directions(self.scale), self._spread], axis=1)
        middle = np.zeros((count, count))  # the inverse of what stands between them in the covariance
        middle[:common, :common], middle[common:, common:] = np.eye(common), -self._kernel
        single = (self.scale.single * self.prior.size[pinned]) ** 2
        diagonal = single + _TIGHT * self.prior.variances(self.scale)[pinned]
        along, force = directions[pinned], -free[pinned] / diagonal
        core = middle + along.T @ (along / diagonal[:, None])
        force -= along @ np.linalg.solve(core, along.T @ force) / diagonal
        held = free + directions @ np.linalg.solve(middle, along.T @ force)
        held[pinned] += single * force
        return held, force


class FromSums(Gaussian):
    """The distribution from sums over the rows: O(P^3), however many rows there are.

    The parameters are the prior's mean plus its directions of change times independent standard normal numbers, whose
    precision matrix is well conditioned: the identity, and what was measured.
    """

    def __init__(self, prior: Prior, scale: PriorScale, sums: Information) -> None:
        """Solve for the mean.

        Args:
            prior: the distribution before.
            scale: standard deviations of the prior.
            sums: over all rows.
        """
        from scipy.linalg import cholesky

        super().__init__(prior, scale)
        self._own = scale.single * prior.size if scale.single else np.zeros(0)
        self._common = prior.directions(scale)
        precision = self._to_directions(self._to_directions(sums.matrix).T)
        self._factor = cholesky(precision + np.eye(len(precision)), lower=True)
        wanted = sums.vector - sums.matrix @ prior.mean
        self.mean = prior.mean + self.covariance_times(wanted[:, None])[:, 0]

    def covariance_times(self, matrix: FloatArray) -> FloatArray:
        """Return the product of the covariance `[P, P]` and a matrix `[P, M]`."""
        from scipy.linalg import cho_solve

        return self._from_directions(cho_solve((self._factor, True), self._to_directions(matrix)))

    def drawn(self, rng: np.random.Generator) -> FloatArray:
        """Return parameters drawn from the distribution, which may be negative, `[P]`."""
        from scipy.linalg import solve_triangular

        numbers = rng.standard_normal((len(self._factor), 1))
        spread = self._from_directions(solve_triangular(self._factor, numbers, lower=True, trans="T"))
        return self.mean + spread[:, 0]

    def _from_directions(self, numbers: FloatArray) -> FloatArray:
        """Return the changes of the parameters that standard normal numbers `[D, M]` stand for, `[P, M]`."""
        product = self._common @ numbers[len(self._own) :]
        if len(self._own):
            product += self._own[:, None] * numbers[: len(self._own)]
        return np.asarray(product)

    def _to_directions(self, matrix: FloatArray) -> FloatArray:
        """Return the derivatives by the standard normal numbers of those by the parameters, `[P, M]`."""
        common = self._common.T @ matrix
        return np.concatenate([self._own[:, None] * matrix, common]) if len(self._own) else common


def sums_are_cheaper(count: int, n_parameters: int) -> bool:
    """Return whether the distribution is less work from sums over the rows than from the rows themselves.

    Args:
        count: number of rows B.
        n_parameters: number of parameters P.
    """
    return 2 * count > n_parameters


def given(prior: Prior, scale: PriorScale, rows: FloatArray, noise: FloatArray) -> Gaussian:
    """Return the distribution of the parameters, given rows that measure 1.

    Args:
        prior: the distribution before.
        scale: standard deviations of the prior.
        rows: terms, `[B, P]`.
        noise: variance of each measurement, `[B]`.
    """
    if sums_are_cheaper(*rows.shape):
        return FromSums(prior, scale, Information.of(rows, noise))
    return FromRows(prior, scale, rows, noise)
