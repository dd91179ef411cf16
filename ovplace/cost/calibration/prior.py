"""What is believed of a cost table's parameters before a whole placement has been measured.

Each parameter may be off by a part of its own size, all parameters of one kind (group times on one device, one link,
...) by a common factor, and everything by one factor: spreads of Gaussian distributions about the profile.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ovplace.core.cost_table import CostTable
from ovplace.cost.evaluate.design_matrix import parameters, where
from ovplace.graphs.op_graph import FloatArray, IntArray

SMALL = 0.1
"""A boundary or a group of which nothing is known costs this part of a typical group, or some of it."""


@dataclass(frozen=True)
class Spreads:
    """How far parameters may be from the profile, relative to their sizes.

    Attributes:
        overall: all of them together.
        common: all of one kind together.
        single: each by itself.
    """

    overall: float
    common: float
    single: float


@dataclass(frozen=True, eq=False)
class Prior:
    """Where the parameters are expected, and in which directions they vary.

    Attributes:
        mean: the profile, `[P]`.
        size: what is a large change of each, `[P]`.
        kinds: directions in which all parameters of a kind change together, one a column, `[P, K]`.
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

    def directions(self, spreads: Spreads) -> FloatArray:
        """Return the directions of common change, scaled, `[P, 1 + K]`."""
        return np.column_stack([spreads.overall * self.mean, spreads.common * self.kinds])

    def covariance_times(self, matrix: FloatArray, spreads: Spreads) -> FloatArray:
        """Return the covariance of the parameters `[P, P]` times `matrix` `[P, M]`, without forming the former."""
        common, single = self.directions(spreads), (spreads.single * self.size) ** 2
        return np.asarray(single[:, None] * matrix + common @ (common.T @ matrix))


def _kinds(table: CostTable) -> IntArray:
    """Return the kind of each parameter, `[P]`: its array, and its device or pair of devices."""
    numbers, start = [], 0
    for name, kept in where(table).items():
        link = name in ("latency_ms", "ms_per_byte")
        own = np.arange(kept.size).reshape(kept.shape) if link else np.arange(table.n_devices)
        numbers.append(start + np.broadcast_to(own, kept.shape)[kept])
        start += int(own.max()) + 1
    return np.concatenate(numbers)


def _sizes(table: CostTable) -> FloatArray:
    """Return what is a large change of each parameter, `[P]`: its own size, but never next to nothing.

    What two neighbours save may be as much as the smaller of them costs.
    """
    finite = np.isfinite(table.group_ms)
    group = np.where(finite, table.group_ms, 0.0)
    small = SMALL * float(np.median(table.group_ms[finite]))
    n_bytes = float(table.traffic.n_bytes.mean()) if len(table.traffic.n_bytes) else 1.0
    least = {
        "saving_ms": np.minimum(group[table.edges[0]], group[table.edges[1]]),
        "ms_per_byte": small / max(n_bytes, 1.0),
    }
    return np.concatenate(
        [np.maximum(getattr(table, name), least.get(name, small))[kept] for name, kept in where(table).items()]
    )
