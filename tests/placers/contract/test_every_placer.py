"""Every placer that is a search reaches the optimum of toys, as the cost model has it, from five seeds."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from math import inf

import numpy as np
import pytest

from ovplace.cost.evaluate.latency import latency_ms
from ovplace.plugins import registry
from ovplace.testing.graphs import chain, costs, diamond, problem, trial_of
from ovplace.testing.slow import slow_except

BUDGET = 300

NO_SEARCH = {"single_device", "cut", "dp", "partition", "etf"}
"""What these ask is fixed beforehand, or of one form."""


def chain_of_8(seed):
    return problem(chain(("Convolution", "Add", "Sin", "MatMul") * 2), seed=seed)


def one_device_is_best(seed):
    of = problem(chain(("Convolution", "Relu") * 3), n_devices=3, seed=seed)
    return replace(of, costs=costs(of, seed=7, transfer_ms=20.0, submodel_ms=20.0))


TOYS = {"chain": chain_of_8, "diamond": lambda seed: problem(diamond(), seed=seed), "one device": one_device_is_best}


def best_ms(of):
    every = np.array(list(product(*(np.flatnonzero(row) for row in of.allowed))))
    values = latency_ms(of.costs, every)
    return float(values.min()), every[values.argmin()]


@pytest.mark.parametrize("name", sorted({*registry.names("placers")} - NO_SEARCH))
@pytest.mark.parametrize("toy", TOYS)
@pytest.mark.parametrize("seed", slow_except([0], range(5)))
def test_the_optimum_is_reached(name, toy, seed):
    of = TOYS[toy](seed)
    plugin = registry.load("placers", name)
    placer, found, trials = plugin.factory(of, plugin.config({})), inf, 0
    alone = float(latency_ms(of.costs, np.zeros((1, of.n_groups), dtype=np.int64))[0])
    optimum, _ = best_ms(of)
    while found > optimum * (1 + 1e-9) and trials < BUDGET and (asked := placer.ask(1)):
        took = [float(latency_ms(of.costs, of.lower(placement)[None])[0]) for placement in asked]
        placer.tell([trial_of(trials, p, ms, alone) for p, ms in zip(asked, took, strict=True)])
        found, trials = min(found, *took), trials + len(asked)
    assert found == pytest.approx(optimum), f"{found / optimum - 1:.1%} above it after {trials} measurements"


def test_the_toys_differ():
    used = {name: len(set(best_ms(toy(0))[1].tolist())) for name, toy in TOYS.items()}
    assert used == {"chain": 2, "diamond": 2, "one device": 1}
