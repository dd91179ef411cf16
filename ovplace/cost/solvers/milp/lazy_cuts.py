"""Rows for placements that the forest relaxation counts too low.

HETERO cuts greedily, and regions may need each other. `forest_relaxation.py` has the rows that cut off fractional
solutions; these are found at placements only, one region or loop at a time, so that each holds for all placements that
share it.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from ovplace.cost.evaluate.submodels.counts import pieces_of_regions
from ovplace.cost.solvers.milp.forest_relaxation import VIOLATED, ForestRelaxation
from ovplace.graphs.dag import connected_labels, strong_labels
from ovplace.graphs.op_graph import BoolArray, FloatArray, IntArray


def add_lazy_cuts(forest: ForestRelaxation, values: FloatArray, device_of: IntArray) -> None:
    """Add rows that `values` violate, which count less than the placement's true overhead.

    Args:
        forest: gets the rows.
        values: value of each column, `[C]`.
        device_of: the placement that they stand for, `[G]`.
    """
    before = forest.program.n_rows
    if forest.ordered:
        _cut_loops(forest, values, device_of)
    _cut_regions(forest, values, device_of)
    if forest.program.n_rows == before:
        _cut_placement(forest, device_of)


def _cut_placement(forest: ForestRelaxation, device_of: IntArray) -> None:
    """Give this placement its overhead, the unit of the row; each group elsewhere takes all of it back."""
    if (unit := forest.overhead_ms(device_of)) > 0:
        chosen = forest.on[np.arange(len(device_of)), device_of]
        terms = [(columns, ms / unit) for columns, ms in forest.overhead()]
        forest.program.row([*terms, (chosen, -1.0)], low=1.0 - len(device_of))


def _cut_regions(forest: ForestRelaxation, values: FloatArray, device_of: IntArray) -> None:
    """A region that falls into k pieces has k - 1 fewer tree edges than it could, unless another neighbour joins it."""
    label = connected_labels(len(device_of), forest.pairs[:, np.equal(*device_of[forest.pairs])])
    pieces = pieces_of_regions(len(device_of), forest.edges, device_of)
    for region in np.unique(label):
        members = np.flatnonzero(label == region)
        if (k := len(np.unique(pieces[members]))) > 1:
            _cut_region(forest, values, members, int(device_of[members[0]]), k)


def _cut_region(forest: ForestRelaxation, values: FloatArray, members: IntArray, device: int, k: int) -> None:
    """Add the row of a region if it is violated.

    It is of `k` pieces at least, whatever is where outside it and its neighbours. With j of its members elsewhere there
    are j fewer tree edges anyway, so that each is given back k - 2 only.
    """
    inside, touching = np.isin(forest.pairs, members).all(axis=0), np.isin(forest.pairs, members).any(axis=0)
    tree, on = forest.tree[inside, device], forest.on[:, device]
    if values[tree].sum() > len(members) - k + VIOLATED:
        around = np.setdiff1d(forest.pairs[:, touching], members)
        terms = [(tree, 1.0), (on[members], k - 2.0), (on[around], 1.0 - k)]
        forest.program.row(terms, high=len(members) * (k - 1.0) - k)


def _cut_loops(forest: ForestRelaxation, values: FloatArray, device_of: IntArray) -> None:
    """Tree paths joined to a loop by dependences cannot all hold, unless all of it is in one submodel."""
    joined = np.asarray((values[forest.tree] > 0.5).any(axis=1))
    label = connected_labels(len(device_of), forest.pairs[:, joined])
    for loop in _loops(label, forest.edges):
        stretches = [(a, b) for a, b in loop if a != b]
        devices = np.unique(device_of[[a for a, _ in stretches]])
        others = [a for a, b in loop if a == b and device_of[a] != devices[0]]
        if not stretches or (len(devices) == 1 and not others):
            continue
        tree = np.concatenate([forest.tree[_path(forest, joined, a, b), int(device_of[a])] for a, b in stretches])
        if values[tree].sum() > len(tree) - 1 + VIOLATED:
            slack = [(forest.on[others[:1], devices[0]], -1.0)] if len(devices) == 1 else []
            forest.program.row([(tree, 1.0), *slack], high=len(tree) - 1.0)


def _loops(label: IntArray, edges: IntArray) -> Iterator[list[tuple[int, int]]]:
    """Yield shortest loops of submodels as (group entered, group left) in each."""
    import networkx as nx

    strong = strong_labels(int(label.max()) + 1, label[edges])
    within = (strong[label[edges[0]]] == strong[label[edges[1]]]) & (label[edges[0]] != label[edges[1]])
    graph = nx.DiGraph()
    for u, v in edges[:, within].T.tolist():
        graph.add_edge(int(label[u]), int(label[v]), ends=(u, v))
    seen = set()
    for u, v in list(graph.edges):
        loop = nx.shortest_path(graph, v, u)
        if frozenset(loop) not in seen:
            seen.add(frozenset(loop))
            steps = [graph.edges[step]["ends"] for step in zip([u, *loop], loop, strict=False)]
            yield [(step[1], after[0]) for step, after in zip(steps, steps[1:] + steps[:1], strict=True)]


def _path(forest: ForestRelaxation, joined: BoolArray, start: int, end: int) -> IntArray:
    """Return the pairs on the way from `start` to `end` through tree edges."""
    import networkx as nx

    graph = nx.Graph(forest.pairs[:, joined].T.tolist())
    way = nx.shortest_path(graph, start, end)
    return np.array([forest.edge(u, v) for u, v in pairwise(way)])
