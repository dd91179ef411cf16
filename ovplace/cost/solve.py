"""Which solver for which table: placements that the pairwise model thinks best, for several boundary weights."""

from __future__ import annotations

import numpy as np

from ovplace.core.costs import CostTable
from ovplace.core.graph import IntArray
from ovplace.cost.certificate import PAIRWISE, Solution
from ovplace.cost.expansion import expanded
from ovplace.cost.improve import improved
from ovplace.cost.milp import solve_milp
from ovplace.cost.min_cut import solve_min_cut, weighted
from ovplace.cost.ranked import ranked

GAP = 0.01
"""Of solutions for more than two devices: nearer than the model is to the truth."""


def solve_pairwise(table: CostTable, time_limit_s: float) -> Solution:
    """Return the optimum of the pairwise model: by a minimum cut for two devices, else by a mixed-integer program.

    The latter stops at a gap of `GAP`, or when time is up; the certificate has what it reached.
    """
    if _cuttable(table):
        return solve_min_cut(table)
    return solve_milp(table, model=PAIRWISE, time_limit_s=time_limit_s, gap=GAP)


def candidates(table: CostTable, weight: float = 1.0) -> list[IntArray]:
    """Return placements `[G]` that are near the optimum of the full model, the fastest under it first.

    Args:
        table: the costs.
        weight: transfers cost that many times what the table says while the optimum of the pairwise model is sought;
            by a minimum cut for two devices without memory limits, else by expansion moves.
    """
    costs = weighted(table, weight)
    solved = solve_min_cut(costs).device_of if _cuttable(table) else expanded(costs)
    return ranked(table, (solved, improved(table, solved)))


def _cuttable(table: CostTable) -> bool:
    return table.n_devices == 2 and bool(np.isinf(table.memory_bytes).all())
