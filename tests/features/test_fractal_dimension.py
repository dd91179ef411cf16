from __future__ import annotations

from collections import Counter

import networkx as nx
import numpy as np
import pytest

from ovplace.features import fractal_dimension
from ovplace.features.fractal_dimension import Config, Feature, dimensions
from ovplace.seeds import generator
from ovplace.testing.graphs import chain, graph, layered, renamed, reordered

DEFAULT = Config()
SAMPLED = Config(pairs=600 * 200)
"""Lets a graph of 600 count among 200 of its operations."""


def found(of, config=DEFAULT):
    rows = Feature(config).compute(of)
    assert rows.shape == (len(of), 1)
    return rows[:, 0]


def slope(distances):
    """The definition: least squares of log N(v, r) against log r, for the distances to the others."""
    count = Counter(int(d) for d in distances if d > 0)
    radii = sorted(count)
    within = np.cumsum([count[r] for r in radii])
    return np.polyfit(np.log(radii), np.log(within), 1)[0] if len(radii) > 1 else 0.0


def by_definition(of, directed=False):
    reference = nx.DiGraph(of.edges.T.tolist())
    reference.add_nodes_from(range(len(of)))
    walk = reference if directed else reference.to_undirected()
    return [slope(nx.single_source_shortest_path_length(walk, v).values()) for v in range(len(of))]


@pytest.mark.parametrize("n", [2, 3, 4, 21])
def test_a_path(n):
    expected = [slope(abs(v - w) for w in range(n)) for v in range(n)]
    dimension = found(chain(("Relu",) * n))
    assert np.allclose(dimension, expected)
    if n == 21:
        assert np.allclose(dimension[[0, 10, 20]], 1)  # N = r from the ends, N = 2 r from the middle


def test_a_grid():
    side = 9
    places = [(x, y) for x in range(side) for y in range(side)]
    right = [(side * x + y, side * x + y + 1) for x, y in places if y + 1 < side]
    down = [(side * x + y, side * x + y + side) for x, y in places if x + 1 < side]
    dimension = found(graph(("Add",) * side**2, right + down))
    assert np.allclose(dimension, [slope(abs(x - a) + abs(y - b) for a, b in places) for x, y in places])


@pytest.mark.parametrize("leaves", [2, 3, 30])
@pytest.mark.parametrize("inward", [False, True])
def test_a_star(leaves, inward):
    edges = [(leaf, 0) if inward else (0, leaf) for leaf in range(1, leaves + 1)]
    dimension = found(graph(("Concat",) * (leaves + 1), edges))
    assert dimension[0] == 0  # one radius
    assert np.allclose(dimension[1:], np.log2(leaves))  # the centre at 1, all others at 2


@pytest.mark.parametrize("seed", range(5))
def test_random_graphs_by_definition(seed):
    of = layered(70, seed)
    assert np.allclose(found(of), by_definition(of))


def test_the_check_sees_distances_along_directed_edges():
    of = layered(70, 0)
    assert not np.allclose(found(of), by_definition(of, directed=True))


def test_parts_that_cannot_be_reached_do_not_count():
    parts = graph(("Relu",) * 12, [*((i, i + 1) for i in range(6)), *((i, i + 1) for i in range(7, 10))])
    assert np.allclose(found(parts), by_definition(parts))
    assert np.allclose(found(parts)[:7], found(chain(("Relu",) * 7)))
    assert found(parts)[11] == 0


def test_small_pieces_change_nothing(monkeypatch):
    of = layered(70, 3)
    whole = found(of)
    monkeypatch.setattr(fractal_dimension, "PIECE", 7)
    assert np.array_equal(found(of), whole)


@pytest.mark.parametrize("seed", range(3))
def test_a_sample_comes_close(seed):
    of = layered(600, seed)
    exact = dimensions(of, np.arange(len(of)))
    assert 0.8 < len(fractal_dimension._targets(of, SAMPLED.pairs)) / 200 <= 1
    assert np.abs(found(of, SAMPLED) - exact).mean() < 0.1
    assert not np.array_equal(found(of, SAMPLED), exact)


def test_a_sample_does_not_depend_on_the_order_or_the_names():
    of = layered(600, 0)
    order = generator(0, "testing", "reorder").permutation(len(of)).tolist()
    assert np.array_equal(found(reordered(of, order), SAMPLED), found(of, SAMPLED)[order])
    assert np.array_equal(found(renamed(of), SAMPLED), found(of, SAMPLED))


def test_the_check_sees_a_sample_by_index(monkeypatch):
    of = layered(600, 0)
    order = generator(0, "testing", "reorder").permutation(len(of)).tolist()
    monkeypatch.setattr(fractal_dimension, "_targets", lambda *_: np.arange(200))
    assert not np.allclose(found(reordered(of, order), SAMPLED), found(of, SAMPLED)[order])


def test_a_class_too_large_to_count_is_left_out_whole():
    star = graph(("Split",) + ("Relu",) * 599, [(0, leaf) for leaf in range(1, 600)])
    assert fractal_dimension._targets(star, SAMPLED.pairs).tolist() == [0]
    assert np.array_equal(found(star, SAMPLED), np.zeros(600))


@pytest.mark.parametrize("pairs", [0, 2**31])
def test_bad_settings_are_refused(pairs):
    with pytest.raises(ValueError, match=f"pairs must be .* got {pairs}"):
        Config(pairs=pairs)
