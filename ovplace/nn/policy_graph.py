"""The graph that a policy sees, made from a problem."""

from __future__ import annotations

import numpy as np

from ovplace.core.graph import FloatArray, IntArray
from ovplace.core.problem import Problem
from ovplace.nn.policy import PolicyGraph


def policy_graph(problem: Problem, operations: bool, costs: bool) -> tuple[PolicyGraph, IntArray]:
    """Return the graph, and which group of the problem each node belongs to, `[N]`.

    Args:
        problem: what is placed.
        operations: nodes are operations; else the problem's groups, with the mean of their members' features.
        costs: describe nodes also by which device can run them, and by what they cost there, where that is known.
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
    if costs:
        features = np.concatenate([features, _device_columns(problem)[owner]], axis=1)
    return PolicyGraph(np.ascontiguousarray(features), edges, problem.allowed[owner]), np.array(owner)


def _device_columns(problem: Problem) -> FloatArray:
    """Return support, and time as a multiple of the mean over groups, on each device, `[G, 2 D]`; times are damped."""
    if problem.costs is None:
        return problem.allowed.astype(np.float64)
    ms = np.where(np.isfinite(problem.costs.group_ms), problem.costs.group_ms, 0.0)
    return np.concatenate([problem.allowed, np.log1p(ms / max(float(ms.mean()), 1e-12))], axis=1)
