from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import ovplace.cost.solvers.local_descent as module
from ovplace.cost.evaluate.latency import latency_ms
from ovplace.cost.solvers.local_descent import local_descent, moves
from ovplace.seeds import generator
from ovplace.testing.graphs import costs, layered, problem
from ovplace.testing.slow import slow_except


def descent(table, device_of):
    """Every move evaluated under the full model, the best one made."""
    while True:
        options = moves(table, device_of)
        values = np.where(table.fits(options), latency_ms(table, options), np.inf)
        if not values.min() < latency_ms(table, device_of[None])[0] - 1e-9:
            return device_of
        device_of = options[values.argmin()]


@pytest.mark.parametrize("seed", slow_except(range(15), range(40)))
def test_a_descent_that_passes_over_hopeless_moves_ends_where_one_that_looks_at_all_does(seed):
    rng = generator(seed, "testing", "improve")
    n, devices = int(rng.integers(2, 30)), int(rng.integers(2, 4))
    table = costs(problem(layered(n, seed), devices, seed), seed)
    table = replace(table, submodel_ms=table.submodel_ms * rng.choice([0.0, 1.0, 10.0]))
    start = rng.integers(devices, size=n)
    np.testing.assert_array_equal(local_descent(table, start), descent(table, start))


@pytest.mark.parametrize("seed", range(5))
def test_a_descent_that_looks_at_a_few_moves_at_a_time_ends_where_none_helps(seed, monkeypatch):
    monkeypatch.setattr(module, "_AT_ONCE", 4)
    table = costs(problem(layered(25, seed), seed=seed), seed)
    end = local_descent(table, generator(seed, "testing", "few").integers(2, size=25))
    np.testing.assert_array_equal(descent(table, end), end)
