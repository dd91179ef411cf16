from __future__ import annotations

import numpy as np
import pytest

from ovplace.cost.evaluate.submodels import region_cuts as module
from ovplace.cost.evaluate.submodels.precedence import Precedence
from ovplace.cost.evaluate.submodels.region_cuts import region_cuts
from ovplace.cost.evaluate.submodels.regions import connected, on_cycles
from ovplace.cost.evaluate.submodels.remembered import Remembered
from ovplace.cost.evaluate.submodels.returning_cuts import returning_cuts
from ovplace.seeds import generator
from ovplace.testing.graphs import costs, layered, problem


def drawn(seed, n=40, count=60):
    """Return the order of the groups of a model, and which edges join regions in placements around a random one."""
    rng = generator(seed, "testing", "region cuts")
    table = costs(problem(layered(n, seed), 2, seed), seed)
    device_of = np.repeat(rng.integers(2, size=n)[:, None], count, axis=1)
    device_of[rng.integers(n, size=count), np.arange(count)] ^= 1
    order = Precedence(n, table.edges)
    return order, *(device_of[edges[0]] == device_of[edges[1]] for edges in (order.edges, order.loose))


def by_placements(order, joined, loose):
    """Return what all rounds cut, where each round looks at whole placements."""
    left, parted = joined.copy(), np.zeros((order.n_groups, joined.shape[1]), dtype=bool)
    while True:
        cut, parts = returning_cuts(order, connected(order, left, loose), left)
        left &= ~cut
        parted |= parts
        if not cut.any():
            return joined & ~left, parted


@pytest.mark.parametrize("seed", range(15))
def test_regions_are_cut_alike_in_every_placement(seed):
    order, joined, loose = drawn(seed)
    labels = connected(order, joined, loose)
    cut, parted = region_cuts(order, labels, on_cycles(order, labels))
    wanted, parts = by_placements(order, joined, loose)
    assert wanted.any() and parts.any()
    np.testing.assert_array_equal(cut, wanted)
    np.testing.assert_array_equal(parted, parts)
    for again in zip(region_cuts(order, labels, on_cycles(order, labels)), (wanted, parts), strict=True):
        np.testing.assert_array_equal(*again)  # remembered


def test_a_region_is_looked_at_once_and_beside_others(monkeypatch):
    columns = []

    def counting(order, labels, joined):
        columns.append(labels.shape[1])
        return returning_cuts(order, labels, joined)

    monkeypatch.setattr(module, "returning_cuts", counting)
    order, joined, loose = drawn(0)
    labels = connected(order, joined, loose)
    every = np.ones(labels.shape, dtype=bool)
    region_cuts(order, labels, every)
    assert columns[0] < labels.shape[1]
    columns.clear()
    region_cuts(order, labels[:, ::-1], every)
    assert not columns


def test_few_columns_are_open(monkeypatch):
    order, joined, loose = drawn(1)
    labels = connected(order, joined, loose)
    circles = on_cycles(order, labels)
    expected = region_cuts(order, labels, circles)
    monkeypatch.setattr(module, "_OPEN", 1)
    monkeypatch.setattr(order, "regions", Remembered(0))
    for found, wanted in zip(region_cuts(order, labels, circles), expected, strict=True):
        np.testing.assert_array_equal(found, wanted)


def test_no_placements_and_no_region_of_several_groups():
    order, joined, loose = drawn(2)
    labels = connected(order, joined, loose)
    none = np.zeros(labels.shape, dtype=bool)
    assert not any(found.any() for found in region_cuts(order, labels, none))
    cut, parted = region_cuts(order, labels[:, :0], none[:, :0])
    assert cut.shape == (order.edges.shape[1], 0) and parted.shape == (order.n_groups, 0)
    single = np.repeat(np.arange(order.n_groups)[:, None], 3, axis=1)
    assert not any(found.any() for found in region_cuts(order, single, np.ones(single.shape, dtype=bool)))
