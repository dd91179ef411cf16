"""Description of a problem's groups as network inputs: types, output shapes, neighbours, features.

Source: Mirhoseini, Goldie et al., "A hierarchical model for device placement", ICLR 2018, operation embeddings. There a
node is a TensorFlow operation with one type, and sizes are not logarithmic, so that a dimension of 30,000 outweighs
all others.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from ovplace.core.integer_labels import sums_by_label
from ovplace.core.problem import Problem
from ovplace.graphs.dag import connected_labels
from ovplace.graphs.op_graph import BoolArray, FloatArray, IntArray, OpGraph, Shape

OUTPUTS = 6
"""Described outputs of a group."""

DIMENSIONS = 4
"""Numbers per output; dimensions from the fourth on are multiplied."""

NEIGHBOURS = 6
"""Described neighbours of a group in each direction."""

SCALE = math.log1p(65_536)
"""Divisor of log(1 + dimension), the same as in the feature `output_shape`."""


@dataclass(frozen=True, eq=False)
class GroupFeatures:
    """N groups of a problem.

    Attributes:
        counts: number of members of each operation type in the model, `[N, T]`.
        outputs: scaled log(1 + d) of the dimensions of each output, -1 for a missing one, `[N, 24]`.
        neighbours: breadth-first positions, 0 to 1, of predecessors and of successors, -1 for a missing one, `[N, 12]`.
        extra: mean of the members' node features, `[N, F]`.
        edges: distinct directed pairs of groups, `[2, Q]`.
        allowed: which device can run which group, `[N, D]`.
    """

    counts: FloatArray = field(repr=False)
    outputs: FloatArray = field(repr=False)
    neighbours: FloatArray = field(repr=False)
    extra: FloatArray = field(repr=False)
    edges: IntArray = field(repr=False)
    allowed: BoolArray = field(repr=False)

    def __len__(self) -> int:
        """Return the number of groups N."""
        return len(self.counts)

    @property
    def type_shares(self) -> FloatArray:
        """Part of each group's members that are of each operation type, `[N, T]`."""
        return np.asarray(self.counts / self.counts.sum(axis=1, keepdims=True))

    @classmethod
    def of(cls, problem: Problem) -> GroupFeatures:
        """Describe the groups of a problem."""
        group_of, n = problem.partition.group_of, problem.n_groups
        kinds = sorted(set(problem.graph.types))
        column = {kind: i for i, kind in enumerate(kinds)}
        counts = np.zeros((n, len(kinds)))
        np.add.at(counts, (group_of, np.array([column[kind] for kind in problem.graph.types])), 1.0)
        total = sums_by_label(group_of, problem.features, n)
        edges = problem.quotient.edges
        return cls(
            counts=counts,
            outputs=_outputs(problem),
            neighbours=_neighbours(edges, breadth_first_position(n, edges, problem.group_order)),
            extra=total / np.maximum(counts.sum(axis=1, keepdims=True), 1),
            edges=edges,
            allowed=problem.allowed,
        )


def breadth_first_position(n: int, edges: IntArray, order: IntArray) -> IntArray:
    """Return the position of each node in a breadth-first search along and against the edges.

    The search starts in all connected components at once, at the first node of each by `order`.

    Args:
        n: number of nodes.
        edges: directed edges, `[2, Q]`.
        order: the nodes in the order of preference as a start, `[n]`.

    Returns:
        Positions 0..n-1, `[n]`.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import breadth_first_order

    _, first = np.unique(connected_labels(n, edges)[order], return_index=True)
    source = np.concatenate([edges[0], np.full(len(first), n)])  # node n is a root before all parts
    target = np.concatenate([edges[1], order[first]])
    matrix = coo_array((np.ones(len(source)), (source, target)), shape=(n + 1, n + 1)).tocsr()
    found = breadth_first_order(matrix, n, directed=False, return_predecessors=False)[1:]
    position = np.empty(n, dtype=np.int64)
    position[found] = np.arange(n)
    return position


def _neighbours(edges: IntArray, position: IntArray) -> FloatArray:
    """Return scaled positions of the first predecessors and of the first successors of each group, `[N, 12]`."""
    table = np.full((len(position), 2 * NEIGHBOURS), -1.0)
    for own, other, start in ((1, 0, 0), (0, 1, NEIGHBOURS)):
        by_position = np.lexsort((position[edges[other]], edges[own]))
        row = edges[own][by_position]
        nth = np.arange(len(row)) - np.searchsorted(row, row)
        kept = nth < NEIGHBOURS
        table[row[kept], start + nth[kept]] = position[edges[other][by_position]][kept] / (len(position) - 1)
    return table


def _outputs(problem: Problem) -> FloatArray:
    """Return the outputs of each group, `[N, 24]`: tensors read by others, or else those of its last operation."""
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
