"""Which solver for which table: placements that the pairwise model thinks best, for several boundary weights."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ovplace.core.costs import CostTable
from ovplace.core.graph import IntArray
from ovplace.cost.certificate import PAIRWISE, Solution
from ovplace.cost.improve import improved
from ovplace.cost.milp import solve_milp
from ovplace.cost.min_cut import solve_min_cut, weighted
from ovplace.cost.model import latency_ms

GAP = 0.01
"""Of solutions for more than two devices: nearer than the model is to the truth."""


def solve_pairwise(table: CostTable, time_limit_s: float) -> Solution:
    """Return the optimum of the pairwise model: by a minimum cut for two devices, else by a mixed-integer program.

    The latter stops at a gap of `GAP`, or when time is up; the certificate has what it reached.
    """
    if table.n_devices == 2 and np.isinf(table.memory_bytes).all():
        return solve_min_cut(table)
    return solve_milp(table, model=PAIRWISE, time_limit_s=time_limit_s, gap=GAP)


def candidates(table: CostTable, weights: Sequence[float], time_limit_s: float) -> list[IntArray]:
    """Return distinct placements `[G]`, the fastest under the full model first.

    Args:
        table: the costs.
        weights: each gives a placement: the optimum where transfers cost that many times what the table says.
        time_limit_s: of each solution with more than two devices.
    """
    found: dict[bytes, IntArray] = {}
    for weight in weights:
        solved = solve_pairwise(weighted(table, weight), time_limit_s).device_of
        for choice in (improved(table, solved), solved):
            found.setdefault(choice.tobytes(), choice)
    choices = list(found.values())
    order = np.argsort(latency_ms(table, np.stack(choices)), kind="stable")
    return [choices[i] for i in order]
