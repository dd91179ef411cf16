from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from ovplace.cost.evaluate.latency import latency_ms
from ovplace.cost.solvers.portfolio import best_known, or_alone
from ovplace.testing.graphs import costs, layered, problem


def value(table, choice):
    return float(latency_ms(table, choice[None])[0])


@pytest.mark.parametrize("seed", range(5))
def test_no_single_device_is_faster_and_no_placement_is_faster_than_the_optimum(seed):
    of = problem(layered(7, seed=seed), n_devices=2)
    every = np.array(list(product(range(2), repeat=of.n_groups)))
    found = value(of.costs, best_known(of.costs))
    assert latency_ms(of.costs, every).min() - 1e-12 <= found
    assert found <= min(value(of.costs, of.uniform(device)) for device in range(2)) + 1e-12


def test_a_choice_stays_unless_a_single_device_is_faster():
    of = problem(layered(8, seed=3), n_devices=2)
    dear = costs(of, submodel_ms=50.0)
    torn = np.arange(of.n_groups) % 2
    alone = or_alone(dear, [torn])
    assert len(set(alone.tolist())) == 1
    assert value(dear, alone) == min(value(dear, of.uniform(device)) for device in range(2))
    best = best_known(of.costs)
    assert value(of.costs, or_alone(of.costs, [torn, best])) == value(of.costs, best)
