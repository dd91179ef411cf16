from __future__ import annotations

import numpy as np
import pytest

from ovplace.coarseners.chains import Coarsener, Config
from ovplace.core.partition import Partition
from ovplace.graphs.dag import connected_labels
from ovplace.testing.graphs import chain, graph, layered


def coarsen(of, target, legal=None, allowed=None):
    legal = legal or Partition.identity(len(of))
    anywhere = np.ones((legal.n_groups, 2), dtype=bool)
    return Coarsener(Config(target)).coarsen(of, legal, anywhere if allowed is None else allowed)


@pytest.mark.parametrize("target", [1, 2, 7, 40])
@pytest.mark.parametrize("seed", range(10))
def test_meets_the_target_without_a_cycle(seed, target):
    of = layered(80, seed, width=1 + seed)
    assert coarsen(of, target).quotient(of, acyclic=True).n_groups == target


@pytest.mark.parametrize("seed", range(5))
def test_groups_are_connected(seed):
    of = layered(80, seed)
    found = coarsen(of, 10).group_of
    inside = of.edges[:, found[of.edges[0]] == found[of.edges[1]]]
    assert len(np.unique(connected_labels(len(of), inside))) == 10


def test_few_enough_groups_are_left_alone():
    of = layered(30, seed=1)
    legal = Partition.from_labels(of.rank // 2)
    assert coarsen(of, 15, legal).group_of.tolist() == legal.group_of.tolist()


def test_a_chain_is_cut_into_similar_parts():
    of = chain(("Add",) * 640)
    sizes = coarsen(of, 64).quotient(of).sizes
    assert sizes.max() <= 4 * sizes.min()


def test_chains_go_before_branches():
    """Two chains of five between a source and a sink: down to four groups only the chains shrink."""
    edges = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (0, 6), (6, 7), (7, 8), (8, 9), (9, 10), (5, 11), (10, 11)]
    found = coarsen(graph(("Add",) * 12, edges), 4)
    assert found.group_of.tolist() == [0, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 3]


@pytest.mark.parametrize("hub_first", [True, False])
def test_a_hub_with_thousands_of_neighbours(hub_first):
    edges = [(0, i) if hub_first else (i, 2000) for i in range(hub_first, 2000 + hub_first)]
    of = graph(("Add",) * 2001, edges)
    assert coarsen(of, 64).n_groups == 64


def test_five_thousand_groups():
    of = layered(5000, seed=2, width=10)
    assert coarsen(of, 64).quotient(of, acyclic=True).n_groups == 64


def test_legal_groups_in_a_circle_are_no_obstacle():
    of = chain(("Add",) * 100)
    assert coarsen(of, 8, Partition(np.arange(100) % 50)).n_groups == 8


def test_a_circle_does_not_keep_the_other_groups_apart():
    """Groups of a source each and, in reverse order, of an operation of a chain that ends in a circle."""
    n = 60
    chained = [(n + i, n + i + 1) for i in range(n + 2)]
    group_of = [*range(n), *reversed(range(n)), n, n + 1, n]
    assert coarsen(graph(("Add",) * (2 * n + 3), chained), 4, Partition(np.array(group_of))).n_groups == 4


@pytest.mark.parametrize(("target", "alone"), [(25, True), (24, False), (5, False)])
def test_what_a_device_refuses_is_merged_with_its_neighbours_only_to_meet_the_target(target, alone):
    of = chain(("MatMul", "Softmax", "Add", "Relu") * 12)
    softmax = np.array([kind == "Softmax" for kind in of.types])
    allowed = np.stack([np.ones(len(of), dtype=bool), ~softmax], axis=1)
    found = coarsen(of, target, allowed=allowed)
    barred = ~found.every(allowed)[:, 1]
    assert found.n_groups == target
    assert (found.quotient(of).sizes[barred].sum() == softmax.sum()) == alone


def test_what_no_device_runs_together_stays_apart():
    of = chain(("Add", "Sin") * 8)
    allowed = np.array([[True, False], [False, True]] * 8)
    assert coarsen(of, 1, allowed=allowed).n_groups == 16


def test_what_is_not_connected_stays_apart():
    assert coarsen(graph(("Add",) * 6, [(0, 1), (2, 3), (4, 5)]), 1).n_groups == 3


def test_a_target_of_nothing_is_refused():
    with pytest.raises(ValueError, match="at least 1"):
        Config(0)
