from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from ovplace.features import in_degree, out_degree
from ovplace.graphs.degree_bins import LOWEST, one_hot_degrees
from ovplace.testing.graphs import graph, layered


def columns(rows):
    assert np.array_equal(rows.sum(axis=1), np.ones(len(rows)))
    return rows.argmax(axis=1).tolist()


def both(of):
    return [columns(module.Feature(module.Config()).compute(of)) for module in (in_degree, out_degree)]


def multigraph(of, kind=nx.MultiDiGraph):
    reference = kind(of.edges.T.tolist())
    reference.add_nodes_from(range(len(of)))
    return [[degree(v) for v in range(len(of))] for degree in (reference.in_degree, reference.out_degree)]


@pytest.mark.parametrize("seed", range(5))
def test_degrees_are_those_of_the_multigraph(seed):
    of = layered(80, seed, width=4)
    assert max(map(max, multigraph(of))) <= 8  # beyond, a column is a range
    assert both(of) == multigraph(of)


def test_the_check_sees_parallel_edges_counted_once():
    of = graph(("Parameter", "Multiply"), [(0, 1), (0, 1)])
    assert both(of) == multigraph(of) == [[0, 2], [2, 0]]
    assert both(of) != multigraph(of, nx.DiGraph)


def test_columns_do_not_depend_on_the_model():
    small, large = graph(("Sin", "Cos"), [(0, 1)]), graph(("Concat",) * 41, [(i, 40) for i in range(40)])
    assert both(small)[0] == [0, 1]
    assert both(large)[0][40] == len(LOWEST) - 1


def test_large_degrees_share_columns():
    found = columns(one_hot_degrees(np.array([8, 9, 16, 17, 32, 33, 10_000])))
    assert found == [8, 9, 9, 10, 10, 11, 11]
