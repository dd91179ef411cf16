"""The parse against one written from its definition, and what follows from that."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from ovplace.placers.hsdag.network.adjacency import undirected_pairs
from ovplace.placers.hsdag.network.parsing import NONE, dominant, merge_best_pairs, sample_pairs
from ovplace.seeds import generator


def parsed(n, pairs, scores):
    return merge_best_pairs(pairs, dominant(n, pairs, scores))


def slow_dominant(n, pairs, scores):
    """Each node's incident edges, one by one."""
    best = [NONE] * n
    for number, (u, v) in enumerate(pairs.T.tolist()):
        for node in (u, v):
            if best[node] == NONE or scores[number] > scores[best[node]]:
                best[node] = number
    return best


def slow_parse(n, pairs, scores):
    """Seed with the strongest dominant edge, add every node whose dominant edge points in, close, go on."""
    best = slow_dominant(n, pairs, scores)
    left = sorted({b for b in best if b != NONE}, key=lambda number: (-scores[number], number))
    label, count = [None] * n, 0
    while left:
        group = set(pairs[:, left[0]].tolist())
        while True:
            more = {
                v for v in range(n) if v not in group and best[v] != NONE and group & set(pairs[:, best[v]].tolist())
            }
            if not more:
                break
            group |= more
        for node in group:
            label[node] = count
        count += 1
        left = [number for number in left if not group & set(pairs[:, number].tolist())]
    for node in range(n):
        if label[node] is None:
            label[node], count = count, count + 1
    return label


def instance(seed):
    rng = generator(seed, "testing", "parse")
    n = int(rng.integers(1, 24))
    edges = rng.integers(n, size=(2, int(rng.integers(0, 3 * n))))
    pairs = undirected_pairs(edges)
    # Few distinct scores, so that ties are common.
    return n, pairs, rng.integers(1, 6, pairs.shape[1]) / 7 if seed % 2 else rng.random(pairs.shape[1])


def same_groups(a, b):
    return len(set(zip(a, b, strict=True))) == len(set(a)) == len(set(b))


def test_the_parse_is_the_one_of_the_definition():
    for seed in range(400):
        n, pairs, scores = instance(seed)
        assert dominant(n, pairs, scores).tolist() == slow_dominant(n, pairs, scores)
        assert same_groups(parsed(n, pairs, scores).tolist(), slow_parse(n, pairs, scores)), seed


def test_the_comparison_sees_a_difference():
    assert not same_groups([0, 0, 1], [0, 1, 1])
    assert not same_groups([0, 0], [0, 1])


@pytest.mark.parametrize("seed", range(50))
def test_groups_of_a_connected_graph_have_two_nodes_and_one_mutual_pair(seed):
    rng = generator(seed, "testing", "connected")
    n = int(rng.integers(2, 60))
    tree = np.array([(int(rng.integers(v)), v) for v in range(1, n)]).T
    pairs = undirected_pairs(np.concatenate([tree, rng.integers(n, size=(2, n))], axis=1))
    scores = rng.random(pairs.shape[1])
    labels, best = parsed(n, pairs, scores), dominant(n, pairs, scores)
    assert np.bincount(labels).min() >= 2
    mutual = [number for number, (u, v) in enumerate(pairs.T) if best[u] == best[v] == number]
    assert sorted(labels[pairs[0, mutual]]) == list(range(labels.max() + 1))
    quotient = nx.Graph((int(labels[u]), int(labels[v])) for u, v in pairs.T)
    assert nx.is_connected(quotient)


def test_a_chain_follows_its_best_edges():
    pairs = undirected_pairs(np.array([[0, 1, 2, 3], [1, 2, 3, 4]]))
    assert parsed(5, pairs, np.array([0.9, 0.1, 0.2, 0.8])).tolist() == [0, 0, 1, 1, 1]


def test_nodes_without_edges_are_alone():
    assert parsed(3, undirected_pairs(np.zeros((2, 0), dtype=np.int64)), np.zeros(0)).tolist() == [0, 1, 2]


def test_a_long_chain_of_falling_scores_is_one_group():
    n = 20_000
    pairs = np.stack([np.arange(n - 1), np.arange(1, n)])
    assert parsed(n, pairs, -np.arange(n - 1.0)).max() == 0


def test_pairs_are_drawn_by_their_odds():
    pairs = np.array([[0, 1], [1, 2]])
    scores = np.array([0.75, 0.5])  # odds 3 and 1, and 1 for none
    rng = generator(0, "testing", "drawn")
    found = np.array([sample_pairs(3, pairs, scores, rng) for _ in range(20_000)])
    shares = [[np.mean(found[:, node] == pair) for pair in (0, 1, NONE)] for node in range(3)]
    np.testing.assert_allclose(shares, [[3 / 4, 0, 1 / 4], [3 / 5, 1 / 5, 1 / 5], [0, 1 / 2, 1 / 2]], atol=0.015)
