"""What a placer with a network of its own is told of the groups of a problem: types, output shapes, neighbours."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from ovplace.core.problem import Problem
from ovplace.graphs.dag import connected_labels
from ovplace.graphs.op_graph import BoolArray, FloatArray, IntArray, OpGraph, Shape

OUTPUTS = 6
"""Outputs of a node that are described."""

DIMENSIONS = 4
"""Numbers that describe an output; dimensions from the fourth on are multiplied."""

NEIGHBOURS = 6
"""Neighbours of a node that are told, in each direction."""

SCALE = math.log1p(65_536)
"""What counts as 1 of the logarithm of a dimension, as in the feature `output_shape`."""


@dataclass(frozen=True, eq=False)
class Nodes:
    """N nodes.

    Attributes:
        counts: members of each operation type that the model has, `[N, T]`.
        outputs: log(1 + d) of the dimensions of each output, scaled; -1 where there is none, `[N, 24]`.
        neighbours: places of nodes read and of readers in breadth-first order, 0 to 1; -1 for none, `[N, 12]`.
        extra: mean of the members' features, those that the user named, `[N, F]`.
        edges: distinct directed pairs of nodes, `[2, Q]`.
        allowed: which device can run which node, `[N, D]`.
    """

    counts: FloatArray = field(repr=False)
    outputs: FloatArray = field(repr=False)
    neighbours: FloatArray = field(repr=False)
    extra: FloatArray = field(repr=False)
    edges: IntArray = field(repr=False)
    allowed: BoolArray = field(repr=False)

    def __len__(self) -> int:
        """Return the number of nodes N."""
        return len(self.counts)

    @classmethod
    def of(cls, problem: Problem) -> Nodes:
        """Describe the groups of a problem.

        Source: Mirhoseini, Goldie et al., ICLR 2018, operation embeddings. There a node is a TensorFlow operation with
        one type, and sizes are not logarithmic: one of 30,000 drowns all else.
        """
        group_of, n = problem.partition.group_of, problem.n_groups
        kinds = sorted(set(problem.graph.types))
        column = {kind: i for i, kind in enumerate(kinds)}
        counts, total = np.zeros((n, len(kinds))), np.zeros((n, problem.features.shape[1]))
        np.add.at(counts, (group_of, np.array([column[kind] for kind in problem.graph.types])), 1.0)
        np.add.at(total, group_of, problem.features)
        edges = problem.quotient.edges
        return cls(
            counts=counts,
            outputs=_outputs(problem),
            neighbours=_neighbours(edges, breadth_first_place(n, edges, problem.group_order)),
            extra=total / np.maximum(counts.sum(axis=1, keepdims=True), 1),
            edges=edges,
            allowed=problem.allowed,
        )


def breadth_first_place(n: int, edges: IntArray, order: IntArray) -> IntArray:
    """Return the place 0..n-1 of each node in breadth-first order, edges taken both ways, `[n]`.

    The search starts at the first node, by `order`, of each connected part, in all parts at a time.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import breadth_first_order

    _, first = np.unique(connected_labels(n, edges)[order], return_index=True)
    source = np.concatenate([edges[0], np.full(len(first), n)])  # node n is a root before all parts
    target = np.concatenate([edges[1], order[first]])
    matrix = coo_array((np.ones(len(source)), (source, target)), shape=(n + 1, n + 1)).tocsr()
    found = breadth_first_order(matrix, n, directed=False, return_predecessors=False)[1:]
    place = np.empty(n, dtype=np.int64)
    place[found] = np.arange(n)
    return place


def _neighbours(edges: IntArray, place: IntArray) -> FloatArray:
    """Return scaled places of the first nodes read and of the first readers of each node, `[N, 12]`."""
    table = np.full((len(place), 2 * NEIGHBOURS), -1.0)
    for own, other, start in ((1, 0, 0), (0, 1, NEIGHBOURS)):
        by_place = np.lexsort((place[edges[other]], edges[own]))
        row = edges[own][by_place]
        nth = np.arange(len(row)) - np.searchsorted(row, row)
        kept = nth < NEIGHBOURS
        table[row[kept], start + nth[kept]] = place[edges[other][by_place]][kept] / (len(place) - 1)
    return table


def _outputs(problem: Problem) -> FloatArray:
    """Return the described outputs of each node: tensors that others read, or the last operation's if none does."""
    graph, group_of = problem.graph, problem.partition.group_of
    crossing = group_of[graph.edges[0]] != group_of[graph.edges[1]]
    read = np.unique(np.stack([graph.rank[graph.edges[0]], graph.ports[0]])[:, crossing], axis=1)
    shapes: list[list[Shape]] = [[] for _ in range(problem.n_groups)]
    for rank, port in read.T.tolist():
        op = int(graph.order[rank])
        shapes[int(group_of[op])].append(graph.shapes[op][port])
    table = np.full((problem.n_groups, OUTPUTS, DIMENSIONS), -1.0)
    for group, members in enumerate(problem.partition.members):
        for i, shape in enumerate((shapes[group] or _last(graph, members))[:OUTPUTS]):
            numbers = _numbers(shape)
            table[group, i, : len(numbers)] = numbers
    return table.reshape(problem.n_groups, -1)


def _last(graph: OpGraph, members: IntArray) -> list[Shape]:
    return list(graph.shapes[int(members[np.argmax(graph.rank[members])])])


def _numbers(shape: Shape) -> list[float]:
    """Return log(1 + d) of up to four dimensions, scaled; -1 for dynamic ones."""
    rest = shape[DIMENSIONS - 1 :]
    product = (-1 if min(rest) < 0 else math.prod(rest),) if rest else ()
    return [math.log1p(d) / SCALE if d >= 0 else -1.0 for d in shape[: DIMENSIONS - 1] + product]
