from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from ovplace.graphs.dag import connected_labels, lowest_connected
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


def test_nothing_is_connected_without_edges():
    none = np.zeros((2, 0), dtype=np.int64)
    assert connected_labels(3, none).tolist() == [0, 1, 2]
    assert len(connected_labels(0, none)) == 0
