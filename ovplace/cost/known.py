"""The best placement that is quickly known."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ovplace.core.costs import CostTable
from ovplace.core.graph import IntArray
from ovplace.cost.ranked import ranked
from ovplace.cost.solve import candidates


def best_known(table: CostTable) -> IntArray:
    """Return the best of what the fast solvers find and of the single devices, under the full model, `[G]`.

    The solvers look at the pairwise model: where submodels cost much, a single device may be better than theirs.
    """
    return or_alone(table, candidates(table))


def or_alone(table: CostTable, choices: Sequence[IntArray]) -> IntArray:
    """Return the best of some placements and of the single devices, under the full model, `[G]`."""
    found = [*choices, *(np.full(table.n_groups, device, dtype=np.int64) for device in range(table.n_devices))]
    return (ranked(table, found) or found)[0]
