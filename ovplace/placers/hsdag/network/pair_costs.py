"""Relative costs of each group on each device: dimensionless, so that they are comparable between models and machines.

Not in HSDAG, whose classifier knows a device by its index only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ovplace.core.cost_table import CostTable
from ovplace.core.integer_labels import sums_by_label
from ovplace.core.problem import Problem
from ovplace.graphs.op_graph import BoolArray, FloatArray, IntArray

FEATURES = 10
"""Columns of `PairCosts.features`."""

REFUSED = 10.0
"""Time of a group that fails on a device that claims to support it, in multiples of the slowest group's time."""

EDGE = 1e-3
"""Smallest time that logarithms distinguish, as a fraction of the mean group's."""


@dataclass(frozen=True, eq=False)
class PairCosts:
    """Costs of each pair of a group and a device, of one graph or of a disjoint union, each graph on its own machine.

    All times are multiples of the mean time of the problem's groups, each on its fastest device.

    Attributes:
        work: time of each group on each device, 0 where it cannot run, `[G, D]`.
        allowed: which device can run which group, `[G, D]`.
        overhead: overhead of a submodel on each device of the group's machine, `[G, D]`.
        edges: distinct directed pairs of neighbouring groups, `[2, Q]`.
        transfer: cost of transferring the tensors of each edge between each pair of devices, `[Q, D, D]`.
        leave: mean transfer cost from each device to the others, `[Q, D]`.
        enter: mean transfer cost to each device from the others, `[Q, D]`.
        saving: time saved when both ends of an edge run on the same device, `[Q, D]`.
        graph_of: index of the graph that each group belongs to, `[G]`.
    """

    work: FloatArray
    allowed: BoolArray
    overhead: FloatArray
    edges: IntArray
    transfer: FloatArray
    leave: FloatArray
    enter: FloatArray
    saving: FloatArray
    graph_of: IntArray

    @classmethod
    def of(cls, problem: Problem) -> PairCosts:
        """Return the costs of a problem; without a cost table, all groups take the same time and all else is free."""
        g, d, edges, costs = problem.n_groups, len(problem.devices), problem.quotient.edges, problem.costs
        work, transfer = np.ones((g, d)), np.zeros((edges.shape[1], d, d))
        saving, overhead, unit = np.zeros((edges.shape[1], d)), np.zeros(d), 1.0
        if costs is not None:
            work, edges, transfer = _refused(costs.group_ms), costs.edges, _edge_transfers(costs)
            saving, overhead, unit = costs.saving_ms, costs.submodel_ms, max(float(work.min(axis=1).mean()), 1e-12)
        others = max(d - 1, 1) * unit
        return cls(
            work=np.where(problem.allowed, work, 0.0) / unit,
            allowed=problem.allowed,
            overhead=np.tile(overhead / unit, (g, 1)),
            edges=edges,
            transfer=transfer / unit,
            leave=transfer.sum(axis=2) / others,
            enter=transfer.sum(axis=1) / others,
            saving=saving / unit,
            graph_of=np.zeros(g, dtype=np.int64),
        )

    @classmethod
    def union(cls, parts: Sequence[PairCosts]) -> PairCosts:
        """Return the disjoint union; graphs with fewer devices are padded with devices that run nothing."""
        d = max(part.work.shape[1] for part in parts)
        groups = np.cumsum([0, *(len(part.work) for part in parts)])
        graphs = np.cumsum([0, *(part.n_graphs for part in parts)])

        def stacked(name: str) -> FloatArray:
            return np.concatenate([_padded(getattr(part, name), d) for part in parts])

        return cls(
            edges=np.concatenate([part.edges + start for part, start in zip(parts, groups, strict=False)], axis=1),
            graph_of=np.concatenate([part.graph_of + start for part, start in zip(parts, graphs, strict=False)]),
            allowed=stacked("allowed").astype(bool),
            **{name: stacked(name) for name in ("work", "overhead", "transfer", "leave", "enter", "saving")},
        )

    def merged(self, group_of: IntArray, allowed: BoolArray) -> PairCosts:
        """Return the costs after merging groups.

        Args:
            group_of: merged group of each group, `[G]`.
            allowed: which device can run which of the C merged groups, `[C, D]`.
        """
        count = len(allowed)
        ends = group_of[self.edges]
        inside = ends[0] == ends[1]
        work = sums_by_label(group_of, self.work, count) - sums_by_label(ends[0, inside], self.saving[inside], count)
        between, label = np.unique(ends[:, ~inside], axis=1, return_inverse=True)

        def joined(costs: FloatArray) -> FloatArray:
            return sums_by_label(label.reshape(-1), costs[~inside], between.shape[1])

        graph_of, overhead = np.empty(count, dtype=np.int64), np.empty((count, self.work.shape[1]))
        graph_of[group_of], overhead[group_of] = self.graph_of, self.overhead
        return PairCosts(
            work=np.where(allowed, np.maximum(work, 0.0), 0.0),
            allowed=allowed,
            overhead=overhead,
            edges=between.reshape(2, -1),
            transfer=joined(self.transfer),
            leave=joined(self.leave),
            enter=joined(self.enter),
            saving=joined(self.saving),
            graph_of=graph_of,
        )

    @property
    def n_graphs(self) -> int:
        """Number of graphs B."""
        return int(self.graph_of.max(initial=0)) + 1

    @property
    def least(self) -> FloatArray:
        """Time of each group on its fastest device, `[G]`."""
        return np.asarray(np.where(self.allowed, self.work, np.inf).min(axis=1))

    def features(self) -> FloatArray:
        """Return the network inputs of each pair, `[G, D, FEATURES]`; times are log(1 + t)."""
        least = self.least[:, None]
        work = np.where(self.allowed, self.work, least)
        columns = [
            self.allowed,
            np.log1p(work),
            np.log1p(work - least),
            np.log((work + EDGE) / (least + EDGE)),
            np.log1p(self._at_end(0, self.leave)),
            np.log1p(self._at_end(1, self.enter)),
            np.log1p(self._at_end(0, self.saving) + self._at_end(1, self.saving)),
            np.log1p(self.overhead),
            *self._of_whole(),
        ]
        return np.stack(columns, axis=-1).astype(np.float64)

    def _of_whole(self) -> list[FloatArray]:
        """Return the whole graph's log slowdown on each device, and whether all of it runs there, two of `[G, D]`."""
        shape = self.n_graphs, self.work.shape[1]
        overhead, possible = np.zeros(shape), np.ones(shape, dtype=bool)
        overhead[self.graph_of] = self.overhead
        whole = sums_by_label(self.graph_of, self.work, self.n_graphs) + overhead
        np.logical_and.at(possible, self.graph_of, self.allowed)
        best = np.where(possible, whole, np.inf).min(axis=1, keepdims=True)
        best = np.where(np.isfinite(best), best, whole.max(axis=1, keepdims=True))
        slower = np.clip(np.log((whole + EDGE) / (best + EDGE)), -3, 3)
        return [slower[self.graph_of], possible[self.graph_of].astype(np.float64)]

    def _at_end(self, end: int, costs: FloatArray) -> FloatArray:
        """Return the sum of `costs` `[Q, D]` over the edges whose source (0) or target (1) is the group, `[G, D]`."""
        return sums_by_label(self.edges[end], costs, len(self.work))


def _refused(group_ms: FloatArray) -> FloatArray:
    """Return times `[G, D]` with infinite ones replaced by a multiple of the slowest."""
    finite = np.isfinite(group_ms)
    return np.where(finite, group_ms, REFUSED * group_ms.max(initial=0.0, where=finite))


def _padded(array: FloatArray, d: int) -> FloatArray:
    """Return an array `[R, D]` or `[R, D, D]` padded to `d` devices."""
    missing = d - array.shape[-1]
    return np.pad(array, [(0, 0), *[(0, missing)] * (array.ndim - 1)])


def _edge_transfers(costs: CostTable) -> FloatArray:
    """Return the cost of transferring all tensors of each edge between each pair of devices, ms `[Q, D, D]`.

    The cost of a tensor with several readers is divided among their edges, since it is transferred once per device.
    """
    traffic = costs.traffic
    readers = np.bincount(traffic.tensor_of, minlength=len(traffic.source))
    each = costs.transfer_ms() / np.maximum(readers, 1)[:, None, None]
    return sums_by_label(costs.edge_of_readers(), each[traffic.tensor_of], costs.edges.shape[1])
