"""Rows for single regions and loops hold for every placement."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import networkx as nx
import numpy as np
import pytest
from scipy.sparse import csr_array

from ovplace.core.certificate import FULL
from ovplace.cost.evaluate.submodels.counts import pieces_of_regions, submodel_counts, submodels_of_groups
from ovplace.cost.solvers.milp.lazy_cuts import add_lazy_cuts
from ovplace.cost.solvers.milp.solver import formulate
from ovplace.graphs.dag import connected_labels
from ovplace.seeds import generator
from ovplace.testing.graphs import costs, graph, layered, problem
from ovplace.testing.placements import every_choice
from ovplace.testing.slow import slow_except
from tests.cost.solvers.test_milp import check

SIDE_INPUTS = graph(("Add",) * 6, [(0, 1), (0, 5), (1, 5), (2, 5), (3, 5), (4, 5)])
"""The last operation reads the first one directly and by way of the second; it is the only reader of three others."""

BESIDE = np.array([0, 1, 0, 0, 0, 0])


def skipping(n, seed):
    """A chain with skip connections, some of whose operations are the only readers of others that read nothing."""
    rng = generator(seed, "testing", "skipping", n)
    edges, chain, waiting = [], [0], []
    for node in range(1, n):
        if node < n - 1 and rng.random() < 0.4:
            waiting.append(node)
            continue
        read = [source for source in waiting if node == n - 1 or rng.random() < 0.5]
        waiting = [source for source in waiting if source not in read]
        skipped = rng.choice(chain, size=int(rng.integers(2)))
        edges += [(int(source), node) for source in sorted({chain[-1], *skipped.tolist(), *read})]
        chain.append(node)
    return graph(("Add",) * n, edges)


def regions_of(device_of, edges):
    label = connected_labels(len(device_of), edges[:, np.equal(*device_of[edges])])
    return [np.flatnonzero(label == region) for region in np.unique(label)]


def test_an_only_reader_stays_with_what_depends_on_nothing_else():
    edges = SIDE_INPUTS.edges
    assert submodel_counts(6, edges, BESIDE[None], 2).tolist() == [[2, 1]]
    assert pieces_of_regions(6, edges, BESIDE).tolist() == [0, 1, 2, 2, 2, 2]


@pytest.mark.parametrize("make", [layered, skipping])
@pytest.mark.parametrize("seed", slow_except(range(2), range(10)))
def test_a_region_falls_into_the_same_pieces_wherever_others_are(seed, make):
    n, edges = 6, problem(make(6, seed)).costs.edges
    pieces_of = {}
    for device_of in map(np.array, product(range(3), repeat=n)):
        submodels = submodels_of_groups(n, edges, device_of[None])[0]
        pieces = pieces_of_regions(n, edges, device_of)
        for members in regions_of(device_of, edges):
            found = pieces[members].tolist()
            assert pieces_of.setdefault(tuple(members.tolist()), found) == found
            assert len(set(found)) <= len(np.unique(submodels[members]))


def values_of(program, on, forest, device_of, labels):
    """Return the columns of a placement with a spanning tree of each set of groups with the same label."""
    values = np.zeros(program.n_columns)
    values[on[np.arange(len(device_of)), device_of]] = 1.0
    within = forest.pairs[:, np.equal(*labels[forest.pairs])]
    for u, v in nx.minimum_spanning_edges(nx.Graph(within.T.tolist()), data=False):
        values[forest.tree[forest.edge(u, v), device_of[u]]] = 1.0
    return values


def rows_from(program, start):
    """Return the rows of a program from one on as a matrix, with their ends."""
    row, column, value = (np.concatenate(parts) for parts in zip(*program._entries, strict=True))
    matrix = csr_array((value, (row, column)), shape=(program.n_rows, program.n_columns))
    return matrix[start:], np.concatenate(program._low)[start:], np.concatenate(program._high)[start:]


@pytest.mark.parametrize("of", [SIDE_INPUTS, *(make(7, seed) for make in (layered, skipping) for seed in range(4))])
def test_no_row_cuts_off_a_placement(of):
    table = problem(of).costs
    program, on, forest = formulate(table, 1.0)
    start, choices = program.n_rows, every_choice(table)
    for device_of in choices:
        whole = connected_labels(len(of), table.edges[:, np.equal(*device_of[table.edges])])
        add_lazy_cuts(forest, values_of(program, on, forest, device_of, whole), device_of)
    matrix, low, high = rows_from(program, start)
    assert matrix.shape[0] > 0
    for device_of, submodels in zip(choices, submodels_of_groups(len(of), table.edges, choices), strict=True):
        sums = matrix @ values_of(program, on, forest, device_of, submodels)
        assert (low - 1e-9 <= sums).all()
        assert (sums <= high + 1e-9).all()


@pytest.mark.parametrize("part", slow_except(range(1), range(10)))
def test_certificates_of_models_with_skip_connections(part):
    for seed in range(part, 100, 10):
        of = problem(skipping(10, seed), 2, seed)
        check(costs(of, seed, transfer_ms=0.05, submodel_ms=1.0), FULL)


@pytest.mark.slow
def test_no_placement_is_faster_than_what_is_certified_as_the_fastest():
    """Two groups are worth another device together only; the region around them is one of `SIDE_INPUTS`.

    The rest brings about a round of lazy rows. With rows that take the only readers for cut off, the program forbids
    the region, and proves a placement that takes 2 % longer.
    """
    around = [(0, 1), (1, 2), (0, 6), (2, 6), (3, 6), (4, 6), (5, 6)]
    rest = [(a + 7, b + 7) for a, b in skipping(11, 349).edges.T.tolist()]
    of = problem(graph(("Add",) * 18, around + rest), 2, 349)
    table = costs(of, 349, transfer_ms=0.05, submodel_ms=1.0)
    group_ms, saving_ms = table.group_ms.copy(), table.saving_ms.copy()
    group_ms[:7] = [0.1, 50.0]
    group_ms[1:3] = [0.1 + 0.7 * table.submodel_ms.sum(), 0.1]
    saving_ms[(table.edges < 7).all(axis=0)] = 0.0
    check(replace(table, group_ms=group_ms, saving_ms=saving_ms, latency_ms=0.05 * table.latency_ms), FULL)
