"""The portfolio of solvers: which of them solve a cost table, and the best of what they find."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from ovplace.core.certificate import FULL, PAIRWISE, Certificate
from ovplace.core.cost_table import CostTable
from ovplace.cost.evaluate.latency import latency_ms
from ovplace.cost.solvers.alpha_expansion import alpha_expansion
from ovplace.cost.solvers.local_descent import local_descent
from ovplace.cost.solvers.milp.rounding import rounded_relaxations
from ovplace.cost.solvers.milp.solver import solve_milp
from ovplace.cost.solvers.min_cut import ROUNDS, solve_min_cut, weighted
from ovplace.cost.solvers.solution import Solution
from ovplace.graphs.op_graph import IntArray

GAP = 0.01
"""Relative gap that is good enough where no minimum cut is exact: the model is further from the truth."""

RELAXED_SIZE = 2100
"""Groups times squared devices of what is relaxed, at most: 128 groups on four devices take 0.7 s, on six 4.5 s."""


@dataclass(frozen=True, eq=False)
class CertifiedBest:
    """The best placement that is known under the full model, with the best lower bound that was proven.

    Attributes:
        device_of: device of each group, `[G]`.
        value_ms: latency of the placement under the full model.
        lower_bound_ms: no placement is faster under the full model; minus infinity without any proof.
        found_by: name of the solver that found the placement; empty if it was one of those given.
        solutions: solution of each solver.
    """

    device_of: IntArray = field(repr=False)
    value_ms: float
    lower_bound_ms: float
    found_by: str
    solutions: tuple[Solution, ...] = field(repr=False)

    def gap_of(self, value_ms: float) -> float:
        """Return how far a latency may be above the true optimum, as a fraction of the lower bound."""
        return Certificate("", FULL, value_ms, self.lower_bound_ms, 0.0).gap


def best_certified(table: CostTable, time_limit_s: float, known: Sequence[IntArray] = ()) -> CertifiedBest:
    """Return the best placement under the full model that the exact solvers find, each followed by a local descent.

    A mixed-integer program solves the full model. For two devices a minimum cut solves the pairwise model too, whose
    bound holds for the full one: it is at times the better one when time is short.

    Args:
        table: the costs.
        time_limit_s: time limit of the mixed-integer program in seconds.
        known: placements `[G]` that are known already; the result is no slower than the best of them.

    Raises:
        PlacementError: no placement fits into the memory of the devices.
    """
    solutions = [solve_milp(table, model=FULL, time_limit_s=time_limit_s)]
    if table.n_devices == 2:  # where memory is short, its bound holds all the same
        solutions.append(solve_min_cut(table))
    named = [
        (solution.certificate.solver, choice)
        for solution in solutions
        for choice in (solution.device_of, local_descent(table, solution.device_of))
    ]
    named += [("", choice) for choice in known]
    choices = np.stack([choice for _, choice in named])
    values = np.where(table.fits(choices), latency_ms(table, choices), np.inf)
    at = int(values.argmin())
    bound = max(solution.certificate.lower_bound_ms for solution in solutions)
    return CertifiedBest(named[at][1], float(values[at]), bound, named[at][0], tuple(solutions))


def solve_pairwise(table: CostTable, time_limit_s: float) -> Solution:
    """Return the optimum of the pairwise model: by a minimum cut where that is exact, else by a mixed-integer program.

    It is exact for two devices with memory for all groups each. A program is solved for more devices, or where the
    model may exceed the memory of one.

    Args:
        table: the costs.
        time_limit_s: time limit of the mixed-integer program in seconds. It stops at a relative gap of `GAP`, too; the
            certificate has the gap reached.

    Raises:
        PlacementError: no placement fits into the memory of the devices.
    """
    if _cuttable(table):
        return solve_min_cut(table)
    return solve_milp(table, model=PAIRWISE, time_limit_s=time_limit_s, gap=GAP)


def candidates(table: CostTable, weight: float = 1.0, *, quick: bool = False) -> list[IntArray]:
    """Return placements `[G]` that are near the optimum of the full model, the fastest under it first.

    Args:
        table: the costs.
        weight: factor on the cost of transfers while the optimum of the pairwise model is sought, by a minimum cut for
            two devices with memory for all groups each, else by expansion moves.
        quick: for one of many tables: a minimum cut that is exact to 1e-6, and a local descent without what takes most
            of its time.

    Raises:
        ValueError: the weight is negative or not finite.
    """
    costs = weighted(table, weight)
    if _cuttable(table):
        solved = solve_min_cut(costs, rounds=1 if quick else ROUNDS).device_of
    else:
        solved = alpha_expansion(costs)
    return ranked(table, (solved, local_descent(table, solved, quick=quick)))


def thorough_candidates(table: CostTable) -> list[IntArray]:
    """Return `candidates`, where a minimum cut is not exact with the best rounding of linear relaxations in front.

    In less than a second it is mostly at the optimum, where expansion moves end some percent above it.

    Args:
        table: the costs.
    """
    found = candidates(table)
    if _cuttable(table) or table.n_groups * table.n_devices**2 > RELAXED_SIZE or not found:
        return found
    scale_ms = float(latency_ms(table, found[0][None])[0])
    return [*ranked(table, rounded_relaxations(table, scale_ms))[:1], *found]


def _cuttable(table: CostTable) -> bool:
    """Return whether a minimum cut is exact: there are two devices, and whatever is where fits into their memory."""
    return table.n_devices == 2 and bool(table.fits(table.uniform_choices()).all())


def best_known(table: CostTable) -> IntArray:
    """Return the best of `candidates` and of the uniform placements under the full model, `[G]`.

    The solvers look at the pairwise model: where submodels cost much, a single device may be better than theirs.
    """
    return best_of_with_uniform(table, candidates(table))


def best_of_with_uniform(table: CostTable, choices: Sequence[IntArray]) -> IntArray:
    """Return the best of some placements `[G]` and of the uniform ones under the full model, `[G]`.

    Args:
        table: the costs.
        choices: placements, `[G]` each. Where none of all can run or fits, the first is returned.
    """
    found = [*choices, *table.uniform_choices()]
    return (ranked(table, found) or found)[0]


def ranked(table: CostTable, proposals: Iterable[IntArray]) -> list[IntArray]:
    """Return the distinct proposals that can run and fit into memory, fastest under the full model first.

    Args:
        table: the costs.
        proposals: placements, `[G]` each.
    """
    distinct = {choice.tobytes(): choice for choice in proposals}
    choices = np.array(list(distinct.values()), dtype=np.int64).reshape(-1, table.n_groups)
    values = np.where(table.fits(choices), latency_ms(table, choices), np.inf)
    order = np.argsort(values, kind="stable")
    return [choices[i] for i in order if np.isfinite(values[i])]
