"""Errors at rows of fits to all other rows, under many scales of the prior at once.

All rows together have a Gaussian distribution, and the inverse of their covariance gives the error at each of them,
given the others. The covariance is that of the single parameters with the noise, and a few directions of common change
besides: all scales that have the same deviation of single parameters share one inverse.

Sources: Rasmussen and Williams, "Gaussian Processes for Machine Learning", 2006, 5.12 (leave-one-out in closed form)
and A.9 (Woodbury's identity).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ovplace.cost.calibration.gaussian import sums_are_cheaper
from ovplace.cost.calibration.prior import Prior, PriorScale
from ovplace.graphs.op_graph import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class _Inverse:
    """The inverse of the covariance of all rows, where only single parameters vary.

    Attributes:
        error: its product with the errors of the prior's mean, `[B]`.
        common: its product with the directions of common change, `[B, C]`.
        diagonal: its diagonal at some rows, `[R]`.
    """

    error: FloatArray
    common: FloatArray
    diagonal: FloatArray


class LeftOut:
    """Errors of fits at the rows that they leave out."""

    def __init__(self, prior: Prior, rows: FloatArray) -> None:
        """Keep what all scales share.

        Args:
            prior: the distribution of the parameters before any row.
            rows: terms that measure 1, `[B, P]`.
        """
        self._own = rows * prior.size
        self._error = 1 - rows @ prior.mean
        self._common = np.column_stack([rows @ prior.mean, rows @ prior.kinds])
        self._by_sums = sums_are_cheaper(*rows.shape)

    def errors(self, scales: Sequence[PriorScale], noise: FloatArray, at: IntArray) -> FloatArray:
        """Return how far the fit to all other rows is off at some, `[S, R]`.

        Args:
            scales: standard deviations of the prior, S of them.
            noise: variance of each measurement, `[B]`.
            at: indices of the rows that are left out, each by itself, `[R]`.

        Cost: for each deviation of single parameters O(B^3), or O(P^3 + R P^2) from sums over the rows.
        """
        own = self._own
        squared = own.T @ (own / noise[:, None]) if self._by_sums else own @ own.T
        singles = {scale.single for scale in scales}
        inverses = {single: self._inverse(single, squared, noise, at) for single in singles}
        return np.abs([self._errors(scale, inverses[scale.single], at) for scale in scales])

    def _errors(self, scale: PriorScale, inverse: _Inverse, at: IntArray) -> FloatArray:
        """Return the errors under one scale, `[R]`."""
        factor = np.full(self._common.shape[1], scale.common)
        factor[0] = scale.overall
        spread = inverse.common * factor
        core = np.eye(len(factor)) + (self._common * factor).T @ spread
        back = np.linalg.solve(core, spread.T)
        solved = inverse.error - spread @ (back @ self._error)
        return np.asarray(solved[at] / (inverse.diagonal - (spread[at] * back.T[at]).sum(axis=1)))

    def _inverse(self, single: float, squared: FloatArray, noise: FloatArray, at: IntArray) -> _Inverse:
        """Return the inverse for one deviation of single parameters.

        Args:
            single: that deviation.
            squared: products of the rows in units of single parameters, `[B, B]`; of the columns, over the noise,
                `[P, P]` where sums are cheaper.
            noise: variance of each measurement, `[B]`.
            at: indices of the rows whose diagonal is wanted, `[R]`.
        """
        terms = np.column_stack([self._error, self._common])
        if single == 0.0:
            product, diagonal = terms / noise[:, None], 1 / noise[at]
        elif self._by_sums:
            product, diagonal = _from_sums(single * self._own, single**2 * squared, terms, noise, at)
        else:
            inverse = np.linalg.inv(single**2 * squared + np.diag(noise))
            product, diagonal = inverse @ terms, np.diag(inverse)[at]
        return _Inverse(product[:, 0], product[:, 1:], diagonal)


def _from_sums(
    own: FloatArray, sums: FloatArray, terms: FloatArray, noise: FloatArray, at: IntArray
) -> tuple[FloatArray, FloatArray]:
    """Return the product of the inverse with terms `[B, T]`, and its diagonal `[R]`, without forming it.

    Args:
        own: rows in standard deviations of single parameters, `[B, P]`.
        sums: of the products of each of them with itself, over its noise, `[P, P]`.
        terms: `[B, T]`.
        noise: variance of each measurement, `[B]`.
        at: indices of the rows whose diagonal is wanted, `[R]`.
    """
    from scipy.linalg import cho_solve, cholesky, solve_triangular

    factor = cholesky(sums + np.eye(len(sums)), lower=True)
    half = solve_triangular(factor, own[at].T, lower=True)
    product = (terms - own @ cho_solve((factor, True), own.T @ (terms / noise[:, None]))) / noise[:, None]
    return product, (1 - (half**2).sum(axis=0) / noise[at]) / noise[at]
