"""Regions of a model that local search moves as one: groups of one operation type, and segments of the group order."""

from __future__ import annotations

import numpy as np

from ovplace.core.problem import Problem
from ovplace.graphs.op_graph import BoolArray, IntArray, OpGraph
from ovplace.graphs.op_kinds import FREE
from ovplace.graphs.work import constant_bytes


def groups_by_kind(problem: Problem) -> list[IntArray]:
    """Return the groups of each operation type, the type whose operations write most bytes first.

    The kind of a group is the type of its operation that writes most bytes, among those that run at inference: with
    weights, and what is computed from weights alone, the largest weights would decide the kind.
    """
    graph = problem.graph
    written = np.zeros(len(graph), dtype=np.int64)
    np.maximum.at(written, graph.edges[0], graph.out_bytes)
    weight = np.where(_runs_at_inference(graph), written, -1)
    tables: dict[str, list[int]] = {}
    for group, members in enumerate(problem.partition.members):
        by_rank = members[np.argsort(graph.rank[members])]
        main = by_rank[weight[by_rank].argmax()]
        tables.setdefault(graph.types[main], []).append(group)
    total = np.bincount(problem.partition.group_of, weights=np.maximum(weight, 0), minlength=problem.n_groups)
    kinds = [np.array(groups, dtype=np.int64) for groups in tables.values()]
    return sorted(kinds, key=lambda groups: -float(total[groups].sum()))


def segments(problem: Problem, count: int) -> list[IntArray]:
    """Return equal segments of the group order; none where there would be only one.

    Args:
        problem: the problem to place.
        count: number of segments, at most one for each group.
    """
    parts = min(count, problem.n_groups)
    return np.array_split(problem.group_order, parts) if parts > 1 else []


def _runs_at_inference(graph: OpGraph) -> BoolArray:
    """Return which operations work at inference, `[N]`: no inputs, outputs, or operations on constants alone."""
    working: BoolArray = ~np.isin(np.array(graph.types), list(FREE))
    working[list(constant_bytes(graph))] = False
    return working
