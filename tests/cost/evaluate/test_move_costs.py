"""Costs of single moves against the pairwise model, evaluated for each."""

from __future__ import annotations

import numpy as np
import pytest

from ovplace.core.partition import Partition
from ovplace.cost.evaluate.latency import pairwise_ms
from ovplace.cost.evaluate.move_costs import MoveCosts
from ovplace.seeds import generator
from ovplace.testing.graphs import chain, layered, problem


def random_problem(seed):
    rng = generator(seed, "testing", "moves")
    n = int(rng.integers(1, 25))
    partition = Partition.from_labels(rng.integers(max(1, n // 2), size=n)) if seed % 3 == 0 else None
    return problem(layered(n, seed, width=1 + seed % 3), 1 + seed % 4, seed, partition), rng


@pytest.mark.parametrize("seed", range(12))
def test_differences_between_devices_are_those_of_the_pairwise_model(seed):
    of, rng = random_problem(seed)
    device_of = rng.integers(len(of.devices), size=(5, of.n_groups))
    found = MoveCosts(of.costs).all_ms(device_of)
    for group in range(of.n_groups):
        moved = np.repeat(device_of[:, None], len(of.devices), axis=1)
        moved[:, :, group] = np.arange(len(of.devices))
        true = np.stack([pairwise_ms(of.costs, placements) for placements in moved])
        np.testing.assert_allclose(found[:, group] - found[:, group, :1], true - true[:, :1], atol=1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_one_group_alone_is_as_among_all(seed):
    of, rng = random_problem(seed)
    device_of = rng.integers(len(of.devices), size=(3, of.n_groups))
    moves = MoveCosts(of.costs)
    every = moves.all_ms(device_of)
    for group in range(of.n_groups):
        np.testing.assert_allclose(moves.group_ms(device_of, group), every[:, group], atol=1e-12)


def test_a_device_that_cannot_run_a_group_costs_infinitely_much():
    supported = np.array([[True, True], [True, False], [True, True]])
    of = problem(chain(("Add", "Sin", "Relu")), supported=supported)
    found = MoveCosts(of.costs).all_ms(np.zeros((1, 3), dtype=np.int64))
    assert np.array_equal(np.isfinite(found[0]), supported)
