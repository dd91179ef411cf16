"""Operations that a model's variables keep on one device."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from ovplace.graphs.dag import connected_labels
from ovplace.graphs.op_graph import OpGraph
from ovplace.graphs.op_kinds import FREE

if TYPE_CHECKING:
    import networkx as nx

Pair = tuple[int, int]


def variable_ends(graph: OpGraph) -> list[list[int]]:
    """Return the ReadValues and Assigns of each variable."""
    ends: dict[str, list[int]] = {}
    for i, kind in enumerate(graph.types):
        if kind in ("ReadValue", "Assign"):
            ends.setdefault(graph.attributes[i]["variable_id"], []).append(i)
    return list(ends.values())


def state_paths(graph: OpGraph) -> Iterator[Pair]:
    """Yield the connections on every path from a variable's ReadValue to its Assign."""
    variables = variable_ends(graph)
    if not variables:
        return
    after, before = _marks(graph, variables, "ReadValue"), _marks(graph, variables, "Assign")
    for i in graph.order.tolist():
        for source in graph.predecessors[i]:
            after[i] |= after[source]
    for i in reversed(graph.order.tolist()):
        for reader in graph.successors[i]:
            before[i] |= before[reader]
    yield from ((u, w) for u, w in graph.edges.T.tolist() if after[u] & before[u] & after[w] & before[w])


def state_links(graph: OpGraph) -> Iterator[Pair]:
    """Yield connections that tie the ends of a variable together where no path leads from one to the other.

    HETERO makes a submodel of connected operations, and each submodel has states of its own.
    """
    paths = np.array(list(state_paths(graph)), dtype=np.int64).reshape(-1, 2).T
    label = connected_labels(len(graph), paths)
    pairs = (pair for ends in variable_ends(graph) for pair in pairwise(ends))
    if apart := [(one, other) for one, other in pairs if label[one] != label[other]]:
        undirected = _undirected(graph)  # once: a large language model has a hundred variables
        for one, other in apart:
            yield from _way(graph, undirected, one, other)


def _undirected(graph: OpGraph) -> nx.Graph:
    import networkx as nx

    undirected = nx.Graph(graph.edges.T.tolist())
    undirected.add_nodes_from(range(len(graph)))
    return undirected


def _way(graph: OpGraph, undirected: nx.Graph, start: int, end: int) -> Iterator[Pair]:
    """Yield the connections on a shortest way between two operations; without one, pairs that join all operations."""
    import networkx as nx

    connected = nx.has_path(undirected, start, end)
    way = nx.shortest_path(undirected, start, end) if connected else graph.order.tolist()
    for one, other in pairwise(way):
        yield (one, other) if graph.rank[one] < graph.rank[other] else (other, one)


def state_pairs(graph: OpGraph) -> Iterator[Pair]:
    """Yield the ends of each variable, and what only serves to initialise it with its readers."""
    for ends in variable_ends(graph):
        yield from pairwise(ends)
    inside = {i for i, kind in enumerate(graph.types) if kind == "ReadValue"}
    for i in reversed(graph.order.tolist()):
        readers = graph.successors[i]
        if readers and graph.types[i] not in FREE and i not in inside and inside.issuperset(readers):
            inside.add(i)
            yield from ((i, reader) for reader in readers)


def _marks(graph: OpGraph, variables: list[list[int]], kind: str) -> list[int]:
    """Return for each operation the variables of which it is the `kind`, as a bit mask."""
    marks = [0] * len(graph)
    for bit, ends in enumerate(variables):
        for i in ends:
            marks[i] |= (graph.types[i] == kind) << bit
    return marks
