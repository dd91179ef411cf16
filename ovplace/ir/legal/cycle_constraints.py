"""Operations that must share a device so that HETERO's cycle removal leaves certain connections uncut."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import pairwise

from ovplace.graphs.op_graph import OpGraph

Pair = tuple[int, int]


def cycle_constraints(graph: OpGraph, fragile: Collection[Pair]) -> Iterator[Pair]:
    """Yield pairs of operations whose sharing a device keeps HETERO from cutting the connections `fragile`.

    Where a path leaves a submodel and comes back, HETERO cuts connections between operations of one device until no
    submodel depends on itself: those into an operation behind the re-entry from one that is not, and, where that
    leaves cycles, all into some operation that another submodel feeds. The path and what connects its two ends form a
    cycle of the undirected graph, so they lie in one biconnected component ("block"); of a block's operations the
    first can only be the end where the path leaves. Hence, for a connection into an operation with several inputs:
    each block that feeds it stays together but for its first operation, and so does, in each block that only the
    other inputs lie behind, what is upstream of the operation.

    Args:
        graph: the model.
        fragile: connections (source, reader) that must not be cut.

    Source: openvino `src/plugins/hetero/src/subgraph_collector.cpp` (2026), `split_cyclic_dependencies`.
    """
    joins = [(u, w) for u, w in fragile if sum(graph.types[i] != "Constant" for i in graph.predecessors[w]) > 1]
    if not joins:
        return
    above_reader, above_source = _ancestors(graph, [w for _, w in joins]), _ancestors(graph, [u for u, _ in joins])
    whole = {w for _, w in joins}
    for edges in _blocks(graph):
        heads = {max(edge, key=lambda i: int(graph.rank[i])) for edge in edges}
        block = sorted({i for edge in edges for i in edge}, key=lambda i: int(graph.rank[i]))
        if heads & whole:
            yield from pairwise(block[1:])
        elif any(above_reader[v] & ~above_source[v] for v in heads):
            yield from pairwise([i for i in block[1:] if above_reader[i]])


def _blocks(graph: OpGraph) -> Iterator[list[Pair]]:
    """Yield the edges of each biconnected component of what HETERO may join.

    Constants have one reader, Results none.
    """
    import networkx as nx

    skipped = ("Constant", "Result")
    undirected = nx.Graph(
        (a, b) for a, b in graph.edges.T.tolist() if graph.types[a] not in skipped and graph.types[b] not in skipped
    )
    yield from nx.biconnected_component_edges(undirected)


def _ancestors(graph: OpGraph, of: list[int]) -> list[int]:
    """Return for each operation the positions in `of` that it is, or is upstream of, as a bit mask."""
    masks = [0] * len(graph)
    for bit, i in enumerate(of):
        masks[i] |= 1 << bit
    for i in reversed(graph.order.tolist()):
        for reader in graph.successors[i]:
            masks[i] |= masks[reader]
    return masks
