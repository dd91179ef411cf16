"""Small routines on directed graphs given as index arrays."""

from __future__ import annotations

import heapq

import numpy as np
from numpy.typing import NDArray

_Int = NDArray[np.int64]


def topological_order(n: int, edges: _Int) -> _Int:
    """Return a topological order of nodes 0..n-1, lowest ready index first.

    Args:
        n: number of nodes.
        edges: `[2, E]`, parallel edges allowed.

    Raises:
        ValueError: the graph has a cycle.

    Cost: O((n + E) log n).
    """
    targets, start = _adjacency(n, edges)
    waiting = np.bincount(edges[1], minlength=n).tolist()
    ready = [node for node in range(n) if waiting[node] == 0]
    order: list[int] = []
    while ready:
        node = heapq.heappop(ready)
        order.append(node)
        for target in targets[start[node] : start[node + 1]]:
            waiting[target] -= 1
            if waiting[target] == 0:
                heapq.heappush(ready, target)
    if len(order) != n:
        raise ValueError(f"the graph has a cycle among {n - len(order)} of its {n} nodes")
    return np.array(order, dtype=np.int64)


def topological_rank(n: int, edges: _Int) -> _Int:
    """Return the position of each node in the order that `topological_order` returns, `[n]`.

    Args:
        n: number of nodes.
        edges: `[2, E]`, parallel edges allowed.

    Raises:
        ValueError: the graph has a cycle.

    Cost: as `topological_order`.
    """
    return np.argsort(topological_order(n, edges))


def component_rank(n: int, edges: _Int) -> _Int:
    """Return the position of each node's strongly connected component in a topological order of these, `[n]`.

    Nodes on a common cycle share a position, 0 to C-1 for C components; no edge leads to a lower one.

    Args:
        n: number of nodes.
        edges: directed edges, `[2, E]`.

    Cost: as `topological_order`.
    """
    component = strong_labels(n, edges)
    ends = component[edges]
    rank = topological_rank(int(component.max(initial=-1)) + 1, ends[:, ends[0] != ends[1]])
    return np.asarray(rank[component])


def _adjacency(n: int, edges: _Int) -> tuple[list[int], list[int]]:
    by_source = np.argsort(edges[0], kind="stable")
    start = np.searchsorted(edges[0][by_source], np.arange(n + 1))
    return edges[1][by_source].tolist(), start.tolist()


def connected_labels(n: int, edges: _Int) -> _Int:
    """Label each node with its undirected connected component, numbered by lowest member, `[n]`.

    Args:
        n: number of nodes.
        edges: pairs of nodes in either direction, `[2, E]`.

    Cost: as `lowest_connected`.
    """
    lowest = lowest_connected(n, edges)
    return np.asarray((np.cumsum(lowest == np.arange(n)) - 1)[lowest])


def lowest_connected(n: int, edges: _Int) -> _Int:
    """Return the lowest node of the undirected connected component of each node, `[n]`.

    Trees of nodes are hooked below their lowest neighbour until none is lower (Shiloach and Vishkin, "An O(log n)
    parallel connectivity algorithm", 1982). For 64 nodes, as in thousands of calls of a search, this takes a third of
    the time of scipy's routine; for 9,000 random ones two thirds, for a shuffled path three times as much.

    Args:
        n: number of nodes.
        edges: pairs of nodes in either direction, `[2, E]`.

    Cost: O((n + E) log n).
    """
    root = np.arange(n)
    while True:
        ends = root[edges]
        least, below = ends.min(axis=0), root.copy()
        np.minimum.at(below, ends[0], least)
        np.minimum.at(below, ends[1], least)
        while not np.array_equal(flat := below[below], below):
            below = flat
        if np.array_equal(below, root):
            return root
        root = below


def strong_labels(n: int, edges: _Int) -> _Int:
    """Label each node with its strongly connected component, `[n]`.

    Args:
        n: number of nodes.
        edges: directed edges, `[2, E]`.

    Cost: O(n + E), in scipy's compiled code.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    weights = np.ones(edges.shape[1], dtype=np.int8)
    matrix = coo_array((weights, (edges[0], edges[1])), shape=(n, n))
    _, labels = connected_components(matrix, directed=True, connection="strong")
    return np.asarray(labels, dtype=np.int64)
