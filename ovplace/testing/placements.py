"""Placements to try: random ones at several granularities, and every one, whose best is the oracle of all solvers."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from ovplace.core.cost_table import CostTable
from ovplace.core.placement import Placement
from ovplace.core.problem import Problem
from ovplace.graphs.op_graph import FloatArray, IntArray, OpGraph

Evaluate = Callable[[CostTable, IntArray], FloatArray]


def every_choice(table: CostTable) -> IntArray:
    """Return every placement in which each group can run and each device's memory suffices, `[B, G]`."""
    choices = np.indices((table.n_devices,) * table.n_groups).reshape(table.n_groups, -1).T
    runs = np.isfinite(table.group_ms[np.arange(table.n_groups), choices]).all(axis=1)
    used = [(table.group_bytes * (choices == device)).sum(axis=1) for device in range(table.n_devices)]
    fits = (np.stack(used, axis=1) <= table.memory_bytes).all(axis=1)
    return np.asarray(choices[runs & fits], dtype=np.int64)


def optimum(table: CostTable, evaluate: Evaluate) -> float:
    """Return the lowest value of all placements, ms; infinite if no placement is possible.

    Args:
        table: the costs.
        evaluate: function of the table and placements `[B, G]` that returns values `[B]`.
    """
    return float(evaluate(table, every_choice(table)).min(initial=np.inf))


def later_half(graph: OpGraph) -> IntArray:
    """Return 1 for what computes in the second half of the order, else 0, `[N]`.

    Constants and Parameters are with their readers, Results with their producers.
    """
    late = graph.rank >= len(graph) // 2
    for source, target in graph.edges[:, np.argsort(-graph.rank[graph.edges[1]])].T.tolist():
        if graph.types[source] in ("Constant", "Parameter"):
            late[source] = late[target]
        if graph.types[target] == "Result":
            late[target] = late[source]
    return late.astype(np.int64)


def random_assignments(problem: Problem, count: int, rng: np.random.Generator) -> Iterator[Placement]:
    """Yield random placements: one in five with independent groups, the others of two to thirty-two segments.

    Args:
        problem: the problem to place.
        count: number of placements.
        rng: source of randomness.
    """
    for number in range(count):
        if number % 5 == 0:
            yield problem.lift(rng.integers(len(problem.devices), size=problem.n_groups))
        else:
            yield segmented(problem, int(2 ** rng.integers(1, 6)), rng)


def segmented(problem: Problem, count: int, rng: np.random.Generator) -> Placement:
    """Return a placement of segments of the group order, each on a random device.

    Args:
        problem: the problem to place.
        count: number of segments, at least 1.
        rng: source of randomness.
    """
    bounds = np.sort(rng.integers(problem.n_groups + 1, size=count - 1))
    segment_of = np.searchsorted(bounds, np.arange(problem.n_groups), side="right")
    choice = np.empty(problem.n_groups, dtype=np.int64)
    choice[problem.group_order] = rng.integers(len(problem.devices), size=count)[segment_of]
    return problem.lift(choice)
