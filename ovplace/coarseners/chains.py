"""Contraction to a target number of groups: first of those that the same devices run, and of chains."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from ovplace.core.partition import Partition, Quotient
from ovplace.graphs.dag import component_rank, topological_rank
from ovplace.graphs.op_graph import BoolArray, IntArray, OpGraph
from ovplace.plugins import protocols

SUMMARY = "merges neighbours, chains first, down to a number of groups of similar size"

SLACK = 1.2
"""Factor by which a pair may outgrow its weight in the queue; 1 would requeue all edges of a hub at each merge."""


@dataclass(frozen=True)
class Config:
    """Settings of the contraction.

    Attributes:
        target: number of groups to stop at, at least 1; fewer inseparable groups are left as they are. Parts of a model
            that are not connected, or that no device runs both of, are never merged, so that more groups may remain.
    """

    target: int = 128

    def __post_init__(self) -> None:
        """Check the target."""
        if self.target < 1:
            raise ValueError(f"target must be at least 1, got {self.target}")


class Coarsener(protocols.Coarsener):
    """Merges neighbouring legal groups, the smallest first, until the target number is left.

    Groups that the same devices run are merged first: a merged group runs only where all of its members do.
    """

    def coarsen(self, graph: OpGraph, legal: Partition, allowed: BoolArray) -> Partition:
        """Return at most `target` groups if the graph is connected and some device runs all of it.

        Merging closes no cycle: if the graph of the legal groups is acyclic, so is that of the result.

        Args:
            graph: the prepared model, N operations.
            legal: the groups that HETERO can place one by one, G of them.
            allowed: whether each device can run each legal group, `[G, D]`.

        Cost: O(E log E) for bounded degrees; a group with k neighbours adds up to O(k^2).
        """
        quotient = legal.quotient(graph)
        work = _Contraction(quotient, _rank(graph, legal, quotient), allowed)
        for devices in (work.run_on_the_same, work.share_a_device):
            for form in (work.is_chain, work.is_safe):
                work.contract(self.config.target, devices, form)
        return legal.then(Partition.from_labels(work.labels()))


def _rank(graph: OpGraph, legal: Partition, quotient: Quotient) -> IntArray:
    """Return the position of each legal group in a topological order, `[G]`; on a circle in that of operations."""
    if quotient.is_acyclic:
        return topological_rank(quotient.n_groups, quotient.edges)
    first = np.full(quotient.n_groups, len(graph))
    np.minimum.at(first, legal.group_of, graph.rank)
    return np.lexsort((first, component_rank(quotient.n_groups, quotient.edges))).argsort()


class _Contraction:
    """A graph under contraction.

    Every edge leads to a node of higher rank. An edge from u to v may be contracted without closing a cycle when v
    is the lowest successor of u, or u the highest predecessor of v: any other path from u to v would have to pass
    between them. The merged node takes the rank of v, or of u, and the ranks stay valid without another sort.
    """

    def __init__(self, quotient: Quotient, rank: IntArray, allowed: BoolArray) -> None:
        """Start from the legal groups.

        Args:
            quotient: the graph of the legal groups.
            rank: position of each group, `[G]`; edges against it, which only cyclic graphs have, are left out.
            allowed: whether each device can run each group, `[G, D]`.
        """
        self._rank: list[int] = rank.tolist()
        self._devices: list[int] = (allowed @ (1 << np.arange(allowed.shape[1]))).tolist()  # a bit for each
        self._weight: list[int] = quotient.sizes.tolist()
        self._into = list(range(quotient.n_groups))
        self._after: list[set[int]] = [set() for _ in self._into]
        self._before: list[set[int]] = [set() for _ in self._into]
        self._alive = quotient.n_groups
        for u, v in quotient.edges[:, rank[quotient.edges[0]] < rank[quotient.edges[1]]].T.tolist():
            self._after[u].add(v)
            self._before[v].add(u)

    def contract(self, target: int, *wanted: Callable[[int, int], bool]) -> None:
        """Merge the lightest pair until the target number of nodes is left, or no pair.

        Args:
            target: number of nodes to stop at.
            *wanted: conditions under which the nodes (u, v) of an edge may be merged.
        """
        heap = [entry for node in range(len(self._into)) for entry in self._candidates(node)]
        heapq.heapify(heap)
        while self._alive > target and heap:
            weight, u, v = heapq.heappop(heap)
            if v not in self._after[u] or not all(may_merge(u, v) for may_merge in wanted):
                continue
            if weight * SLACK < (grown := self._weight[u] + self._weight[v]):
                heapq.heappush(heap, (grown, u, v))
                continue
            for node in self._merge(u, v):
                for entry in self._candidates(node):
                    heapq.heappush(heap, entry)

    def run_on_the_same(self, u: int, v: int) -> bool:
        """Return whether every device runs both nodes or neither.

        Args:
            u: a node.
            v: another.
        """
        return self._devices[u] == self._devices[v]

    def share_a_device(self, u: int, v: int) -> bool:
        """Return whether some device runs both nodes.

        Args:
            u: a node.
            v: another.
        """
        return self._devices[u] & self._devices[v] != 0

    def is_chain(self, u: int, v: int) -> bool:
        """Return whether v is the only successor of u, and u the only predecessor of v.

        Args:
            u: source of an edge between groups.
            v: its target.
        """
        return len(self._after[u]) == 1 == len(self._before[v])

    def is_safe(self, u: int, v: int) -> bool:
        """Return whether the ranks prove that no other path leads from u to v.

        Args:
            u: source of an edge between groups.
            v: its target.
        """
        return self._gone(u, v) >= 0

    def _gone(self, u: int, v: int) -> int:
        """Return the end of a safe edge whose rank is dropped when it is merged, -1 if the edge is not safe.

        The end with fewer edges is preferred, because moving the edges of a hub at every merge takes quadratic time.
        """
        by_u = len(self._after[u]) + len(self._before[u])
        by_v = len(self._after[v]) + len(self._before[v])
        for end in (u, v) if by_u <= by_v else (v, u):
            if (self._lowest_after(u) == v) if end == u else (self._highest_before(v) == u):
                return end
        return -1

    def labels(self) -> list[int]:
        """Return the node that each legal group was merged into, `[G]`."""
        for node in range(len(self._into)):
            while self._into[node] != self._into[self._into[node]]:
                self._into[node] = self._into[self._into[node]]
        return self._into

    def _lowest_after(self, u: int) -> int:
        return min(self._after[u], key=self._rank.__getitem__)

    def _highest_before(self, v: int) -> int:
        return max(self._before[v], key=self._rank.__getitem__)

    def _candidates(self, node: int) -> Iterator[tuple[int, int, int]]:
        """Yield (weight, u, v) of the edges at a node that are safe by its own rank."""
        pairs = [(node, self._lowest_after(node))] if self._after[node] else []
        pairs += [(self._highest_before(node), node)] if self._before[node] else []
        for u, v in pairs:
            yield self._weight[u] + self._weight[v], u, v

    def _merge(self, u: int, v: int) -> set[int]:
        """Merge the ends of a safe edge; return the nodes whose safe edges may have changed."""
        gone = self._gone(u, v)
        kept = u + v - gone
        touched = (self._after[gone] | self._before[gone]) - {kept}
        for links, back in ((self._after, self._before), (self._before, self._after)):
            for other in links[gone]:
                back[other].remove(gone)
                if other != kept:
                    back[other].add(kept)
                    links[kept].add(other)
            links[gone] = set()
        self._into[gone] = kept
        self._weight[kept] += self._weight[gone]
        self._devices[kept] &= self._devices[gone]
        self._alive -= 1
        return touched | {kept}
