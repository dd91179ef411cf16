from __future__ import annotations

from dataclasses import replace

import networkx as nx
import numpy as np
import pytest

from ovplace.graphs.op_graph import OpGraph
from ovplace.graphs.positions import depth, earliest_position, height, latest_position, structural_classes
from ovplace.seeds import generator
from ovplace.testing.graphs import chain, diamond, graph, layered, reordered

POSITIONS = (earliest_position, latest_position)


def longest_to_each(of, edges):
    """The definition, by networkx: the longest path that ends at each operation."""
    reference = nx.DiGraph(edges.T.tolist())
    reference.add_nodes_from(range(len(of)))
    return [nx.dag_longest_path_length(reference.subgraph(nx.ancestors(reference, v) | {v})) for v in range(len(of))]


@pytest.mark.parametrize("seed", range(5))
def test_depth_and_height_are_longest_paths(seed):
    of = layered(60, seed)
    assert depth(of).tolist() == longest_to_each(of, of.edges)
    assert height(of).tolist() == longest_to_each(of, of.edges[::-1])


def grows_along_edges(positions, of):
    return bool((positions[of.edges[0]] < positions[of.edges[1]]).all())


@pytest.mark.parametrize("position", POSITIONS)
@pytest.mark.parametrize("of", [layered(80, seed) for seed in range(5)] + [diamond()])
def test_positions_grow_along_edges_and_fill_1_to_n(position, of):
    found = position(of)
    assert grows_along_edges(found, of)
    assert found.min() >= 1
    assert found.max() <= len(of)
    assert found.sum() == len(of) * (len(of) + 1) / 2


def test_the_check_sees_a_position_that_falls():
    of = chain(("Add", "Sin", "Relu"))
    assert not grows_along_edges(earliest_position(of)[::-1], of)


def with_edges_shuffled(of, seed):
    order = generator(seed, "testing", "edges").permutation(of.edges.shape[1])
    return replace(of, edges=of.edges[:, order], ports=of.ports[:, order], out_bytes=of.out_bytes[order])


@pytest.mark.parametrize("found", [*POSITIONS, structural_classes, depth, height])
@pytest.mark.parametrize("seed", range(5))
def test_nothing_depends_on_the_order_of_operations_or_edges(found, seed):
    of = layered(80, seed)
    order = generator(seed, "testing", "reorder").permutation(len(of)).tolist()
    assert np.array_equal(found(with_edges_shuffled(reordered(of, order), seed)), found(of)[order])


def test_the_order_of_the_arrays_would_be_seen():
    of = layered(80, 0)
    order = generator(0, "testing", "reorder").permutation(len(of)).tolist()
    assert not np.array_equal(reordered(of, order).rank, of.rank[order])


def test_operations_that_are_alike_share_the_mean_of_their_positions():
    of = graph(("Parameter", "Sin", "Sin", "Cos", "Concat"), [(0, 1), (0, 2), (0, 3), (1, 4), (3, 4), (2, 4)])
    alike = graph(("Parameter", "Sin", "Sin", "Cos"), [(0, 1), (0, 2), (0, 3)])
    assert len(set(structural_classes(of).tolist())) == 5  # they enter the last one at different ports
    assert structural_classes(alike)[1] == structural_classes(alike)[2]
    assert sorted(earliest_position(alike).tolist()) == [1, 2, 3.5, 3.5]


def with_shapes(of: OpGraph, shapes):
    return replace(of, shapes=tuple((shape,) for shape in shapes))


def test_shapes_and_what_is_above_and_below_tell_operations_apart():
    two = graph(("Sin",) * 2, ())
    assert structural_classes(two).tolist() == [0, 0]
    assert sorted(structural_classes(with_shapes(two, [(1, 2), (1, 3)])).tolist()) == [0, 1]
    lines = graph(("Sin", "Cos", "Tan", "Sin", "Cos", "Abs"), [(0, 1), (1, 2), (3, 4), (4, 5)])
    assert len(set(structural_classes(lines).tolist())) == 6
    assert len(set(structural_classes(graph(("Sin", "Cos") * 2, [(0, 1), (2, 3)])).tolist())) == 2


def test_class_numbers_grow_with_depth():
    of = layered(80, 1)
    order = np.argsort(structural_classes(of), kind="stable")
    assert (np.diff(depth(of)[order]) >= 0).all()


def test_a_constant_stands_late_before_its_reader_and_early_at_the_beginning():
    of = graph(("Parameter", "Sin", "Cos", "Constant", "Add"), [(0, 1), (1, 2), (2, 4), (3, 4)])
    assert earliest_position(of)[3] <= 2
    assert latest_position(of)[3] >= 3
