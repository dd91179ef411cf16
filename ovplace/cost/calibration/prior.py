"""The prior of a cost table's parameters before a whole placement has been measured.

Each parameter may be off by a part of its own size, all parameters of one kind (group times on one device, one link,
...) by a common factor, and everything by one factor: Gaussian distributions about the profile.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np

from ovplace.core.cost_table import CostTable
from ovplace.cost.evaluate import terms
from ovplace.cost.evaluate.design_matrix import fitted_entries, parameters
from ovplace.graphs.op_graph import FloatArray, IntArray

SMALL = 0.1
"""The least change that counts as large, as a part of the median time of a group."""


@dataclass(frozen=True)
class PriorScale:
    """Spread of the prior, relative to the sizes of the parameters.

    Attributes:
        overall: standard deviation of a factor on all parameters.
        common: standard deviation of a factor on all parameters of one kind.
        single: standard deviation of each parameter by itself.
    """

    overall: float
    common: float
    single: float

    def at_least(self, least: PriorScale) -> PriorScale:
        """Return the larger one of each deviation and that of `least`."""
        return PriorScale(
            max(self.overall, least.overall), max(self.common, least.common), max(self.single, least.single)
        )


EXACT = PriorScale(0.0, 0.0, 0.0)
"""The profile as it is."""


@dataclass(frozen=True, eq=False)
class Prior:
    """The expected parameters, and the directions in which they vary.

    Attributes:
        mean: the profile, `[P]`.
        size: a large change of each parameter, `[P]`.
        kinds: directions in which all parameters of a kind change together, two a kind: in proportion to their means,
            and to their sizes, `[P, 2 K]`.
    """

    mean: FloatArray
    size: FloatArray
    kinds: FloatArray

    @classmethod
    def of(cls, table: CostTable) -> Prior:
        """Return the prior about the numbers of a table."""
        mean, size, kind = parameters(table), _sizes(table), _kinds(table)
        member = kind[:, None] == np.unique(kind)
        return cls(mean, size, np.concatenate([member * mean[:, None], member * size[:, None]], axis=1))

    def directions(self, scale: PriorScale) -> FloatArray:
        """Return the directions of common change, scaled, `[P, 1 + 2 K]`."""
        return np.column_stack([scale.overall * self.mean, scale.common * self.kinds])

    def covariance_times(self, matrix: FloatArray, scale: PriorScale) -> FloatArray:
        """Return the product of the covariance of the parameters `[P, P]`, which is never formed, and a matrix.

        Args:
            matrix: `[P, M]`.
            scale: standard deviations of the prior.

        Returns:
            The product, `[P, M]`.
        """
        common, single = self.directions(scale), (scale.single * self.size) ** 2
        return np.asarray(single[:, None] * matrix + common @ (common.T @ matrix))

    def variances(self, scale: PriorScale) -> FloatArray:
        """Return the variance of each parameter, `[P]`.

        Args:
            scale: standard deviations of the prior.
        """
        return np.asarray((scale.single * self.size) ** 2 + (self.directions(scale) ** 2).sum(axis=1))

    def drawn(self, rng: np.random.Generator, scale: PriorScale) -> FloatArray:
        """Return parameters drawn from the prior, which may be negative, `[P]`.

        Args:
            rng: source of randomness.
            scale: standard deviations of the prior.
        """
        common = self.directions(scale)
        single = scale.single * self.size * rng.standard_normal(len(self.size))
        return np.asarray(self.mean + single + common @ rng.standard_normal(common.shape[1]))


def _kinds(table: CostTable) -> IntArray:
    """Return the kind of each parameter, `[P]`: its array, and its device or pair of devices."""
    numbers, start = [], 0
    for name, kept in fitted_entries(table).items():
        devices = [table.n_devices] * table.axes()[name].count("D")  # the last axes of an array
        own = np.arange(prod(devices)).reshape(devices)
        numbers.append(start + np.broadcast_to(own, kept.shape)[kept])
        start += own.size
    return np.concatenate(numbers)


def _sizes(table: CostTable) -> FloatArray:
    """Return the large change of each parameter, `[P]`: its own size, but never next to nothing."""
    small_ms = SMALL * float(np.median(table.group_ms[np.isfinite(table.group_ms)]))
    least = {name: size for term in terms.TERMS for name, size in term.least_change_ms(table, small_ms).items()}
    entries = fitted_entries(table)
    sizes = {name: np.maximum(getattr(table, name), least.get(name, small_ms)) for name in entries}
    return np.concatenate([sizes[name][kept] for name, kept in entries.items()])
