"""The number of submodels as rows of a linear program: nodes less edges of a forest.

A submodel is a connected set of groups on one device, and no path leaves it and enters it again. Choose a spanning tree
of each: there are as many submodels on a device as groups less tree edges. A forest that is free to be any is the
most favourable one, so that the rows here never count more submodels than there are; what they leave open is settled
by rows that hold for single placements.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ovplace.core.cost_table import CostTable
from ovplace.cost.evaluate.submodels.counts import submodel_counts
from ovplace.cost.solvers.milp.program import Program
from ovplace.graphs.dag import connected_labels, strong_labels, topological_rank
from ovplace.graphs.op_graph import BoolArray, FloatArray, IntArray

VIOLATED = 1e-4
"""By how much a row must fail to be worth adding; HiGHS lets rows fail by 1e-6."""


class ForestRelaxation:
    """Tree edges between neighbours on a device, with the overhead of submodels as their objective.

    Attributes:
        program: has the columns and rows.
        on: columns that say which group is on which device, `[G, D]`.
        edges: directed pairs of neighbouring groups, `[2, Q]`.
        pairs: the same without direction, `[2, P]`.
        tree: columns that say which pair is a tree edge on which device, `[P, D]`.
        ordered: whether the groups have a topological order. Where groups need each other, HETERO joins what no order
            separates, and rows that use the order do not hold.
        reach: whether each group (row) reaches each other one through the edges, `[G, G]`; none unless `ordered`.
    """

    def __init__(self, program: Program, table: CostTable, on: IntArray) -> None:
        """Add columns and the rows that matter from the start.

        Args:
            program: gets the columns and rows.
            table: the costs.
            on: columns that say which group is on which device, `[G, D]`; their cost holds one submodel's overhead.
        """
        self.program, self.on, self.edges = program, on, table.edges
        self.pairs = np.unique(np.sort(table.edges, axis=0), axis=1)
        self.tree = program.columns(np.tile(-table.submodel_ms, (self.pairs.shape[1], 1)))
        self.ordered = len(np.unique(strong_labels(table.n_groups, table.edges))) == table.n_groups
        self.reach = _reachable(table.n_groups, table.edges[:, : table.edges.shape[1] * self.ordered])
        self._excess = program.columns([1.0], upper=np.inf)
        self._price = table.submodel_ms
        self._number = {pair: i for i, pair in enumerate(map(tuple, self.pairs.T.tolist()))}
        for end in self.pairs:
            program.rows([(self.tree.ravel(), 1.0), (on[end].ravel(), -1.0)], high=0.0)
        for members in _dense_parts(self.pairs):
            self._acyclic(members)

    def cut(self, values: FloatArray, violated: float = VIOLATED) -> bool:
        """Add rows that a solution violates; return whether there are any.

        Args:
            values: value of each column, `[C]`.
            violated: least violation of a row.
        """
        before = self.program.n_rows
        for device in range(self.on.shape[1]):
            here, tree = values[self.on[:, device]], values[self.tree[:, device]]
            self._cut_cycles(here, tree, device, violated)
            self._cut_detours(here, tree, device, violated)
        return self.program.n_rows > before

    def overhead_ms(self, device_of: IntArray) -> float:
        """Return the true overhead of the placement `[G]`."""
        counts = submodel_counts(len(device_of), self.edges, device_of[None], len(self._price))
        return float((counts @ self._price).item())

    def overhead(self) -> list[tuple[IntArray, FloatArray]]:
        """Return the terms of the overhead in ms, as columns and coefficients."""
        groups, pairs = (np.tile(self._price, len(columns)) for columns in (self.on, self.tree))
        return [(self.on.ravel(), groups), (self.tree.ravel(), -pairs), (self._excess, np.ones(1))]

    def _acyclic(self, members: IntArray) -> None:
        """Tree edges inside `members` are at least one fewer than its groups on the device, if there are any there.

        The rank rows of the forest polytope (Edmonds 1970), one for each root, through a common slack.
        """
        inside = np.isin(self.pairs, members).all(axis=0)
        slack = self.program.columns(np.zeros(self.on.shape[1]), upper=float(len(members)))
        for device, column in enumerate(slack):
            groups = self.on[members, device]
            self.program.row([(groups, 1.0), (self.tree[inside, device], -1.0), (column[None], -1.0)], 0.0, 0.0)
            self.program.rows([(np.full(len(groups), column), 1.0), (groups, -1.0)], low=0.0)

    def edge(self, u: int, v: int) -> int:
        """Return the number of a pair of neighbouring groups.

        Args:
            u: one of the two.
            v: the other.
        """
        return self._number[min(u, v), max(u, v)]

    def _cut_cycles(self, here: FloatArray, tree: FloatArray, device: int, violated: float) -> None:
        joined = (here > 0.5)[self.pairs].all(axis=0)
        label = connected_labels(len(here), self.pairs[:, joined])
        for region in np.unique(label[self.pairs[0, joined]]):
            members = np.flatnonzero(label == region)
            inside = np.isin(self.pairs, members).all(axis=0)
            if tree[inside].sum() > here[members].sum() - here[members].max() + violated:
                self._acyclic(members)

    def _cut_detours(self, here: FloatArray, tree: FloatArray, device: int, violated: float) -> None:
        """A tree path from what w depends on to what depends on w holds together only with w on the device.

        For each w the shortest path, where a pair is as long as it is no tree edge, is the row most violated.
        """
        from scipy.sparse import csr_array

        length = np.maximum(1 - tree, 0) + 1e-9  # zero would be no edge
        graph = csr_array((length, self.pairs), shape=self.reach.shape)
        passed = self.reach.any(axis=0) & self.reach.any(axis=1)
        for w in np.flatnonzero(passed & (here < 1 - violated)):
            before, behind = np.flatnonzero(self.reach[:, w]), np.flatnonzero(self.reach[w])
            if path := _shortest(graph, before, behind, 1 - here[w] - violated):
                pairs = [self.edge(u, v) for u, v in path]
                row = [(self.tree[pairs, device], 1.0), (self.on[[w], device], -1.0)]
                self.program.row(row, high=len(pairs) - 1.0)


def _shortest(graph: Any, before: IntArray, behind: IntArray, limit: float) -> list[tuple[int, int]]:
    """Return the steps of a shortest undirected path between two sets; none if it is not shorter than `limit`."""
    from scipy.sparse.csgraph import dijkstra

    distance, previous, _ = dijkstra(
        graph, directed=False, indices=before, min_only=True, return_predecessors=True, limit=limit
    )
    end = behind[distance[behind].argmin()]
    return list(_steps(previous, end)) if distance[end] < limit else []


def _steps(previous: NDArray[np.int32], end: int) -> Iterator[tuple[int, int]]:
    while previous[end] >= 0:
        yield int(previous[end]), end
        end = int(previous[end])


def _reachable(n: int, edges: IntArray) -> BoolArray:
    """Return which node leads to which other one through the edges, `[n, n]`."""
    reach = np.zeros((n, n), dtype=bool)
    rank = topological_rank(n, edges)
    for source, target in edges[:, np.argsort(-rank[edges[0]], kind="stable")].T:
        reach[source] |= reach[target]
        reach[source, target] = True
    return reach


def _dense_parts(pairs: IntArray) -> list[IntArray]:
    """Return components, blocks and shortest cycles of the undirected graph, each of at least two groups."""
    import networkx as nx

    graph = nx.Graph(pairs.T.tolist())
    found = [*nx.connected_components(graph), *(block for block in nx.biconnected_components(graph) if len(block) > 2)]
    for u, v in pairs.T.tolist():
        graph.remove_edge(u, v)
        with suppress(nx.NetworkXNoPath):
            found.append(set(nx.shortest_path(graph, u, v)))
        graph.add_edge(u, v)
    return [np.array(members) for members in sorted({tuple(sorted(part)) for part in found})]
