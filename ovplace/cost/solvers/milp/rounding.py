"""Placements near the optimum of the full model: linear relaxations, rounded.

Expansion moves look at the pairwise model and change one device at a time; where the overhead of submodels decides,
several regions have to change together. The relaxation sees all of them at once. It is solved to its end, without a
time limit, so that the placements do not depend on the speed of the machine.
"""

from __future__ import annotations

from math import inf

from ovplace.core.cost_table import CostTable
from ovplace.cost.evaluate.folding import folded
from ovplace.cost.solvers.local_descent import local_descent
from ovplace.cost.solvers.milp.solver import WORTH, formulate
from ovplace.graphs.op_graph import IntArray

_ROUNDS = 3
"""Relaxations that are solved; the third is mostly the last that finds rows to add."""


def rounded_relaxations(table: CostTable, scale_ms: float) -> list[IntArray]:
    """Return the placement `[G]` nearest to each of a few relaxations, improved by a local descent.

    Args:
        table: the costs.
        scale_ms: the latency of any placement, to which the program is scaled.

    Returns:
        Placements; those with memory limits may not fit.
    """
    program, on, forest = formulate(folded(table), scale_ms)
    found: list[IntArray] = []
    for _ in range(_ROUNDS):
        values = program.solve(inf, relaxed=True).values
        if values is None:
            break
        found.append(local_descent(table, values[on].argmax(axis=1)))
        if not forest.cut(values, WORTH):
            break
    return found
