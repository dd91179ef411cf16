"""Which solver for which table: placements that the pairwise model thinks best, for several boundary weights."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from ovplace.core.cost_table import CostTable
from ovplace.cost.evaluate.latency import latency_ms
from ovplace.cost.solvers.alpha_expansion import expanded
from ovplace.cost.solvers.certificate import PAIRWISE, Solution
from ovplace.cost.solvers.local_descent import improved
from ovplace.cost.solvers.milp.solver import solve_milp
from ovplace.cost.solvers.min_cut import solve_min_cut, weighted
from ovplace.graphs.op_graph import IntArray

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


def best_known(table: CostTable) -> IntArray:
    """Return the best of what the fast solvers find and of the single devices, under the full model, `[G]`.

    The solvers look at the pairwise model: where submodels cost much, a single device may be better than theirs.
    """
    return or_alone(table, candidates(table))


def or_alone(table: CostTable, choices: Sequence[IntArray]) -> IntArray:
    """Return the best of some placements and of the single devices, under the full model, `[G]`."""
    found = [*choices, *table.uniform_choices()]
    return (ranked(table, found) or found)[0]


def ranked(table: CostTable, proposals: Iterable[IntArray]) -> list[IntArray]:
    """Return the distinct proposals that can run and fit into memory, fastest under the full model first."""
    distinct = {choice.tobytes(): choice for choice in proposals}
    choices = np.array(list(distinct.values()), dtype=np.int64).reshape(-1, table.n_groups)
    values = np.where(table.fits(choices), latency_ms(table, choices), np.inf)
    order = np.argsort(values, kind="stable")
    return [choices[i] for i in order if np.isfinite(values[i])]
