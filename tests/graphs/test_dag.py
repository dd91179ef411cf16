from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from ovplace.graphs.dag import component_rank, connected_labels, lowest_connected, topological_rank
from ovplace.seeds import generator


def of_scipy(n, edges):
    matrix = coo_array((np.ones(edges.shape[1]), (edges[0], edges[1])), shape=(n, n))
    return connected_components(matrix, directed=False)[1]


def test_connected_components_of_random_multigraphs():
    for seed in range(300):
        rng = generator(seed, "testing", "dag")
        n = int(rng.integers(1, 60))
        edges = rng.integers(n, size=(2, int(rng.integers(0, 80))))
        label = connected_labels(n, edges)
        assert np.array_equal(label, of_scipy(n, edges)), seed
        assert np.array_equal(lowest_connected(n, edges), np.unique(label, return_index=True)[1][label]), seed


@pytest.mark.parametrize("seed", range(4))
def test_a_long_path_in_any_order_is_one_component(seed):
    path = generator(seed, "testing", "path").permutation(20_000)
    assert not lowest_connected(len(path), np.stack([path[:-1], path[1:]])).any()


def test_components_on_a_common_cycle_share_a_rank_and_edges_lead_upwards():
    for seed in range(100):
        rng = generator(seed, "testing", "rank")
        n = int(rng.integers(1, 20))
        edges = rng.integers(n, size=(2, int(rng.integers(0, 30))))
        rank = component_rank(n, edges)
        matrix = coo_array((np.ones(edges.shape[1]), (edges[0], edges[1])), shape=(n, n))
        count, strong = connected_components(matrix, directed=True, connection="strong")
        assert np.array_equal(rank[:, None] == rank, strong[:, None] == strong), seed
        assert sorted(set(rank.tolist())) == list(range(count)), seed
        assert (rank[edges[0]] <= rank[edges[1]]).all(), seed


def test_a_rank_needs_an_acyclic_graph():
    assert topological_rank(3, np.array([[2, 1], [1, 0]])).tolist() == [2, 1, 0]
    with pytest.raises(ValueError, match="a cycle among 2 of its 3 nodes"):
        topological_rank(3, np.array([[0, 1], [1, 0]]))


def test_nothing_is_connected_without_edges():
    none = np.zeros((2, 0), dtype=np.int64)
    assert connected_labels(3, none).tolist() == [0, 1, 2]
    assert len(connected_labels(0, none)) == 0
