from __future__ import annotations

from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ovplace.graphs.dag import connected_labels, strong_labels, topological_order
from ovplace.testing.graphs import chain, diamond, graph, layered


@st.composite
def digraphs(draw):
    """Draw any directed multigraph as (n, edges `[2, E]`)."""
    n = draw(st.integers(1, 8))
    node = st.integers(0, n - 1)
    pairs = draw(st.lists(st.tuples(node, node), max_size=16))
    return n, np.array(pairs, dtype=np.int64).reshape(-1, 2).T


def as_networkx(n, edges):
    of = nx.MultiDiGraph()
    of.add_nodes_from(range(n))
    of.add_edges_from(edges.T.tolist())
    return of


def classes(labels):
    return {frozenset(np.flatnonzero(labels == label).tolist()) for label in set(labels.tolist())}


@given(digraphs())
def test_topological_order_is_the_smallest_one_or_there_is_a_cycle(case):
    n, edges = case
    reference = as_networkx(n, edges)
    if nx.is_directed_acyclic_graph(reference):
        assert topological_order(n, edges).tolist() == list(nx.lexicographical_topological_sort(reference))
    else:
        with pytest.raises(ValueError, match="cycle"):
            topological_order(n, edges)


@given(digraphs())
def test_components(case):
    n, edges = case
    reference = as_networkx(n, edges)
    found = connected_labels(n, edges)
    assert classes(found) == set(map(frozenset, nx.weakly_connected_components(reference)))
    assert [found[min(c)] for c in sorted(classes(found), key=min)] == list(range(len(classes(found))))
    assert classes(strong_labels(n, edges)) == set(map(frozenset, nx.strongly_connected_components(reference)))


def test_order_rank_and_neighbours():
    of = layered(40, seed=2)
    assert (of.rank[of.edges[0]] < of.rank[of.edges[1]]).all()
    np.testing.assert_array_equal(of.order[of.rank], np.arange(len(of)))
    assert sum(of.in_degree) == sum(of.out_degree) == of.edges.shape[1]
    for node in range(len(of)):
        assert set(of.successors[node]) == set(of.edges[1][of.edges[0] == node].tolist())
        assert set(of.predecessors[node]) == set(of.edges[0][of.edges[1] == node].tolist())
        assert of.index[of.names[node]] == node


def test_parallel_edges_are_real():
    squared = graph(("Sin", "Multiply"), [(0, 1), (0, 1)])
    assert squared.in_degree.tolist() == [0, 2]
    assert squared.successors == ((1,), ())
    assert squared.ports.tolist() == [[0, 0], [0, 1]]


def test_arrays_cannot_be_changed_and_are_copies():
    bytes_ = np.array([1, 2, 3, 4, 5, 6])
    of = replace(diamond(), out_bytes=bytes_)
    bytes_[0] = 99
    assert of.out_bytes[0] == 1
    for array in (of.edges, of.ports, of.out_bytes):
        with pytest.raises(ValueError, match="read-only"):
            array[..., 0] = 7


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"types": ("Add",)}, "6 types"),
        ({"out_bytes": [1]}, "6 out_bytes"),
        ({"ports": [[0], [0]]}, "6 ports"),
        ({"names": ("a",) * 6}, "unique"),
        ({"edges": [[0, 1, 0, 3, 2, 4], [1, 2, 3, 4, 5, 6]]}, "0..5"),
        ({"edges": [[0, 1, 0, 3, 2, 4], [1, 2, 3, 4, 5, 0]]}, "cycle"),
    ],
)
def test_what_is_no_graph_cannot_be_built(wrong, words):
    with pytest.raises(ValueError, match=words):
        replace(diamond(), **wrong)


def test_no_edges():
    assert graph(("Sin",), []).order.tolist() == [0]
    assert chain(("Sin", "Add")).order.tolist() == [0, 1]
