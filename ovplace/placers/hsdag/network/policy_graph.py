"""Input graph of the policy, built from a problem.

The node features are those of HSDAG, section 2.2; the cost columns are not published.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from ovplace.core.integer_labels import sums_by_label
from ovplace.core.partition import Partition
from ovplace.core.problem import Problem
from ovplace.errors import UsageError
from ovplace.graphs.colocation import colocation
from ovplace.graphs.op_graph import BoolArray, FloatArray, IntArray
from ovplace.placers.hsdag.network.adjacency import Adjacency
from ovplace.placers.hsdag.network.pair_costs import EDGE, PairCosts

COST_COLUMNS = 4
"""Columns of `_cost_columns`."""

MAX_LOG_SLOWDOWN = 5.0
"""Upper limit of log(second best / best device time); also the value when only one device can run a group."""


@dataclass(frozen=True, eq=False)
class PolicyGraph:
    """Input of the policy: a graph whose nodes are operations or groups.

    Attributes:
        features: one row per node, `[N, F]`.
        edges: distinct directed edges between nodes, `[2, E]`.
        allowed: which device can run which node, `[N, D]`.
        group_of: group of the problem that each node belongs to, `[N]`.
        pair_costs: costs of the problem's groups on each device; for the head `devices` only.
    """

    features: FloatArray
    edges: IntArray
    allowed: BoolArray
    group_of: IntArray
    pair_costs: PairCosts | None = None

    def __len__(self) -> int:
        """Return the number of nodes N."""
        return len(self.features)

    @cached_property
    def rows(self) -> Tensor:
        """The features in single precision, `[N, F]`."""
        return torch.from_numpy(self.features).float()

    @cached_property
    def adjacency(self) -> Adjacency:
        """The edges in the forms that graph layers need."""
        return Adjacency(self.edges, len(self))

    @classmethod
    def union(cls, parts: Sequence[PolicyGraph]) -> PolicyGraph:
        """Return the disjoint union of graphs with `pair_costs`, each of which may be on a machine of its own."""
        costs = PairCosts.union([part.pair_costs for part in parts if part.pair_costs is not None])
        nodes = np.cumsum([0, *(len(part) for part in parts)])
        groups = np.cumsum([0, *(len(part.pair_costs.work) for part in parts if part.pair_costs is not None)])
        d = costs.work.shape[1]
        return cls(
            np.concatenate([part.features for part in parts]),
            np.concatenate([part.edges + start for part, start in zip(parts, nodes, strict=False)], axis=1),
            np.concatenate([np.pad(p.allowed, ((0, 0), (0, d - p.allowed.shape[1]))) for p in parts]),
            np.concatenate([part.group_of + start for part, start in zip(parts, groups, strict=False)]),
            costs,
        )


def policy_graph(
    problem: Problem, *, nodes: str, costs: bool, device_aware: bool = False, described: bool = True
) -> PolicyGraph:
    """Build the policy's input.

    Args:
        problem: the placement problem.
        nodes: a key of `NODES`; a node has the mean of its members' features.
        costs: add columns for support and, if known, for the costs on each device.
        device_aware: for the head `devices`: no column refers to a device by its index.
        described: nodes have the problem's features.
    """
    members = NODES[nodes](problem)
    group_of_node = _group_of_nodes(problem, members)
    edges = members.quotient(problem.graph).edges
    total = sums_by_label(members.group_of, problem.features, members.n_groups)
    features = total / np.bincount(members.group_of)[:, None]
    pair_costs = PairCosts.of(problem) if device_aware else None
    parts = [features] if described else []
    if pair_costs is not None:
        parts.append(_cost_columns(pair_costs)[group_of_node])
    elif costs:
        parts.append(_device_columns(problem)[group_of_node])
    rows = np.concatenate([np.zeros((len(group_of_node), 0)), *parts], axis=1)
    return PolicyGraph(rows, edges, problem.allowed[group_of_node], np.array(group_of_node), pair_costs)


def _colocated(problem: Problem) -> Partition:
    return Partition.from_labels(colocation(len(problem.graph), problem.graph.edges))


NODES: dict[str, Callable[[Problem], Partition]] = {
    "operations": lambda problem: Partition.identity(len(problem.graph)),
    "colocated": _colocated,
    "groups": lambda problem: problem.partition,
}
"""Nodes of the policy's graph: single operations, HSDAG's co-location sets of operations, or the problem's groups."""


def _group_of_nodes(problem: Problem, members: Partition) -> IntArray:
    """Return the problem's group of each node, `[N]`.

    Raises:
        UsageError: the members of a node are in several groups.
    """
    group_of = np.empty(members.n_groups, dtype=np.int64)
    group_of[members.group_of] = problem.partition.group_of
    if not np.array_equal(group_of[members.group_of], problem.partition.group_of):
        raise UsageError(
            "placer.nodes = 'colocated' needs groups that keep co-location sets whole; set search.coarsener = "
            "'colocate' and coarsener.nodes = 'operations'"
        )
    return group_of


def n_columns(n_features: int, described: bool) -> int:
    """Return the number of feature columns of a graph for the head `devices`.

    Args:
        n_features: feature columns of the problem.
        described: nodes have the problem's features.
    """
    return (n_features if described else 0) + COST_COLUMNS


def _cost_columns(pairs: PairCosts) -> FloatArray:
    """Return time on the best device, log slowdown on the second best and the worst, and share of work, `[G, 4]`."""
    least = pairs.least
    slower = np.log((np.where(pairs.allowed, pairs.work, np.inf) + EDGE) / (least + EDGE)[:, None])
    second = np.sort(slower, axis=1)[:, min(1, slower.shape[1] - 1)]
    most = slower.max(axis=1, where=np.isfinite(slower), initial=0.0)
    share = least / max(float(least.sum()), EDGE)
    return np.stack([np.log1p(least), np.minimum(second, MAX_LOG_SLOWDOWN), most, share], axis=1)


def _device_columns(problem: Problem) -> FloatArray:
    """Return support, and log(1 + time / mean time over groups) if known, on each device, `[G, D]` or `[G, 2 D]`."""
    if problem.costs is None:
        return problem.allowed.astype(np.float64)
    ms = np.where(np.isfinite(problem.costs.group_ms), problem.costs.group_ms, 0.0)
    return np.concatenate([problem.allowed, np.log1p(ms / max(float(ms.mean()), 1e-12))], axis=1)
