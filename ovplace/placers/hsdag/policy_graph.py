"""The graph that a policy sees, made from a problem."""

from __future__ import annotations

import numpy as np

from ovplace.core.problem import Problem
from ovplace.graphs.op_graph import FloatArray, IntArray
from ovplace.placers.hsdag.pairs import EDGE, Pairs
from ovplace.placers.hsdag.policy import PolicyGraph

COST_COLUMNS = 4
"""Columns of `_cost_columns`."""

ALONE = 5.0
"""Logarithm of how much slower the second best device counts where there is none, or one that is slower still."""


def policy_graph(
    problem: Problem, operations: bool, costs: bool, aware: bool = False, described: bool = True
) -> tuple[PolicyGraph, IntArray]:
    """Return the graph, and which group of the problem each node belongs to, `[N]`.

    Args:
        problem: what is placed.
        operations: nodes are operations; else the problem's groups, with the mean of their members' features.
        costs: describe nodes also by which device can run them, and by what they cost there, where that is known.
        aware: the policy chooses devices by what they are: no column is of one device.
        described: nodes have the problem's features.
    """
    group_of, n_groups = problem.partition.group_of, problem.n_groups
    if operations:
        owner, features = group_of, problem.features
        edges = np.unique(problem.graph.edges, axis=1)
    else:
        owner, edges = np.arange(n_groups), problem.quotient.edges
        total = np.zeros((n_groups, problem.features.shape[1]))
        np.add.at(total, group_of, problem.features)
        features = total / np.bincount(group_of, minlength=n_groups)[:, None]
    pairs = Pairs.of(problem) if aware else None
    parts = [features] if described else []
    if pairs is not None:
        parts.append(_cost_columns(pairs)[owner])
    elif costs:
        parts.append(_device_columns(problem)[owner])
    rows = np.concatenate([np.zeros((len(owner), 0)), *parts], axis=1)
    return PolicyGraph(rows, edges, problem.allowed[owner], pairs, owner), np.array(owner)


def n_columns(n_features: int, described: bool) -> int:
    """Return the columns of a graph for a policy that chooses devices by what they are, from those of the problem."""
    return (n_features if described else 0) + COST_COLUMNS


def _cost_columns(pairs: Pairs) -> FloatArray:
    """Return work where it is fastest, how much slower it is elsewhere at least and at most, and share, `[G, 4]`."""
    least = pairs.least
    slower = np.log((np.where(pairs.allowed, pairs.work, np.inf) + EDGE) / (least + EDGE)[:, None])
    second = np.sort(slower, axis=1)[:, min(1, slower.shape[1] - 1)]
    most = slower.max(axis=1, where=np.isfinite(slower), initial=0.0)
    share = least / max(float(least.sum()), EDGE)
    return np.stack([np.log1p(least), np.minimum(second, ALONE), most, share], axis=1)


def _device_columns(problem: Problem) -> FloatArray:
    """Return support, and time as a multiple of the mean over groups, on each device, `[G, 2 D]`; times are damped."""
    if problem.costs is None:
        return problem.allowed.astype(np.float64)
    ms = np.where(np.isfinite(problem.costs.group_ms), problem.costs.group_ms, 0.0)
    return np.concatenate([problem.allowed, np.log1p(ms / max(float(ms.mean()), 1e-12))], axis=1)
