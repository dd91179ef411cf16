"""Fractal dimension: growth of the neighbourhood of an operation with its radius."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array

from ovplace.graphs.op_graph import FloatArray, IntArray, OpGraph
from ovplace.graphs.positions import structural_classes
from ovplace.plugins import protocols
from ovplace.seeds import generator

SUMMARY = "fractal dimension: growth of the neighbourhood with its radius"

PIECE = 1_000_000
"""Edges followed at a time: all 25,000,000 of a star of 5,000 would take several arrays of 100 or 200 MB."""

_Pairs = NDArray[np.int32]
"""Pairs of a target t and an operation v as t * N + v, in half the memory of the usual integers."""

MOST_PAIRS = 2**31 - 1
"""The highest of these numbers."""


@dataclass(frozen=True)
class Config:
    """Settings of the estimate.

    Attributes:
        pairs: largest number of distances computed, which bounds time and memory: all of them up to 5,000 operations.
    """

    pairs: int = 25_000_000

    def __post_init__(self) -> None:
        """Check the number."""
        if not 1 <= self.pairs <= MOST_PAIRS:
            raise ValueError(f"pairs must be at least 1 and at most {MOST_PAIRS}, got {self.pairs}")


class Feature(protocols.Feature):
    """One column: 1 at the ends of a chain, 1 to 2 in a plane grid, 0 if there are fewer than two radii."""

    def compute(self, graph: OpGraph) -> FloatArray:
        """Return the least-squares slope of log N(v, r) against log r for each operation v, `[N, 1]`.

        r runs over the distances from v to the other operations, and N(v, r) is the number of others within r, so that
        the dimension is exactly 1 at the ends of a chain and in its middle; elsewhere in a chain it is lower, as the
        nearer end is reached first. Distances are those of the undirected graph, among operations that can be reached:
        along directed edges the last operations would have no neighbourhood, and `depth` describes direction.

        The slopes are exact up to 5,000 operations. Above that, N(v, r) is counted among `pairs` / N targets, which are
        drawn as whole structural classes, so that the sample does not depend on the order of operations. In models in
        which most operations belong to large classes, few targets remain and the slopes are rough.

        Source: HSDAG, NeurIPS 2024, node features: fractal dimension; there operations that cannot be reached have a
        distance of 1.8e308.
        """
        return dimensions(graph, _targets(graph, self.config.pairs))[:, None]


def dimensions(graph: OpGraph, targets: IntArray) -> FloatArray:
    """Return the fractal dimension of each operation, `[N]`.

    Args:
        graph: the prepared model, N operations.
        targets: operations that N(v, r) is counted among, `[T]`.

    Cost: O(T (N + E)).
    """
    sums = np.zeros((5, len(graph)))
    within = np.zeros(len(graph))
    for radius, found in enumerate(_spheres(graph, targets), start=1):
        hit = np.flatnonzero(found)
        within[hit] += found[hit]
        x, y = np.full(len(hit), np.log(radius)), np.log(within[hit])
        sums[:, hit] += np.stack([np.ones(len(hit)), x, y, x * x, x * y])
    k, x, y, xx, xy = sums
    spread = k * xx - x * x
    return np.divide(k * xy - x * y, spread, out=np.zeros(len(graph)), where=k > 1)


def _targets(graph: OpGraph, pairs: int) -> IntArray:
    """Return the operations to count, as many whole structural classes as `pairs` allows, `[T]`."""
    most = pairs // max(len(graph), 1)
    if most >= len(graph):
        return np.arange(len(graph))
    classes = structural_classes(graph)
    size = np.bincount(classes)
    drawn = generator(0, "features", "fractal_dimension").permutation(len(size))
    drawn = drawn[size[drawn] <= most]
    drawn = drawn[np.cumsum(size[drawn]) <= most]
    return np.flatnonzero(np.isin(classes, drawn))


def _spheres(graph: OpGraph, targets: IntArray) -> Iterator[IntArray]:
    """Yield the number of targets at distance 1, 2, ... of each operation, `[N]`, until there are none.

    Breadth-first search from all targets at once; entry `t * N + v` of `mark` is below 0 until target t has reached v.
    """
    n, neighbours = len(graph), _Neighbours(graph)
    frontier = (np.arange(len(targets)) * n + targets).astype(np.int32)
    mark = np.full(len(targets) * n, -1, dtype=np.int32)
    mark[frontier] = 0
    while len(frontier := _next(frontier, neighbours, mark)):
        yield np.bincount(frontier % n, minlength=n)


class _Neighbours:
    """The undirected graph without parallel edges, as rows of one array."""

    def __init__(self, graph: OpGraph) -> None:
        n, (source, target) = len(graph), graph.edges
        ends = np.concatenate([source, target]), np.concatenate([target, source])
        matrix = coo_array((np.ones(len(ends[0]), dtype=np.int8), ends), shape=(n, n)).tocsr()
        self.n, self.targets = n, matrix.indices.astype(np.int32)
        self.start, self.degree = matrix.indptr[:-1], np.diff(matrix.indptr)

    def of(self, pairs: _Pairs) -> _Pairs:
        """Return `t * N + w` for each neighbour w of v, for each `t * N + v` of `pairs`."""
        op = pairs % self.n
        degree = self.degree[op]
        first = np.cumsum(degree) - degree
        edges = np.arange(degree.sum()) + np.repeat(self.start[op] - first, degree)
        return np.asarray(np.repeat(pairs - op, degree) + self.targets[edges])


def _next(frontier: _Pairs, neighbours: _Neighbours, mark: _Pairs) -> _Pairs:
    """Return what the frontier reaches for the first time, each once, and mark it."""
    follow = np.cumsum(neighbours.degree[frontier % neighbours.n])
    cuts = np.searchsorted(follow, np.arange(PIECE, follow[-1] if len(follow) else 0, PIECE))
    reached = [_unmarked(neighbours.of(piece), mark) for piece in np.split(frontier, cuts)]
    return np.concatenate(reached)


def _unmarked(reached: _Pairs, mark: _Pairs) -> _Pairs:
    """Return the entries of `reached` whose mark is below 0, each once: the last to write its index there stays."""
    reached = reached[mark[reached] < 0]
    index = np.arange(len(reached))
    mark[reached] = index
    return np.asarray(reached[mark[reached] == index])
