"""Searches that know nothing of graphs: what all of them have to reach, on problems small enough to know the answer."""

from __future__ import annotations

from functools import cache
from math import inf

import numpy as np
import pytest

from ovplace.plugins import registry
from ovplace.session.configure import effective
from ovplace.testing.graphs import (
    SequentialCost,
    chain,
    diamond,
    every_placement,
    layered,
    optimum_ms,
    problem,
    random_chain,
    run_search,
    trial_of,
)

NAMES = ("annealing", "cross_entropy", "genetic", "optuna")

SEEDS = range(5)


def eight():
    return random_chain(8, 0)


@cache
def toy(graph, n_devices):
    """Return a graph, a cost and the lowest latency of all placements in ms."""
    of, cost = graph(), SequentialCost.random(graph(), n_devices, n_devices)
    return of, cost, optimum_ms(problem(of, n_devices), cost)


def built(name, of, **settings):
    plugin = registry.load("placers", name)
    return plugin.factory(of, plugin.Config(**settings))


def reached(placer, of, cost, best, budget=300):
    """Return the measurements until the optimum, `budget` + 1 where it is not reached."""
    count = 0
    while count < budget and (asked := placer.ask(1)):
        count += 1
        latency = cost.latency_ms(of.graph, asked[0])
        if latency <= best + 1e-9:
            return count
        placer.tell([trial_of(count, asked[0], latency)])
    return budget + 1


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("graph", "n_devices", "budget"), [(eight, 2, 200), (eight, 3, 300), (diamond, 2, 60), (diamond, 3, 300)]
)
def test_the_best_is_found_by_every_seed(name, graph, n_devices, budget):
    of, cost, best = toy(graph, n_devices)
    here = [problem(of, n_devices, seed=seed) for seed in SEEDS]
    counts = [reached(built(name, one), one, cost, best, budget) for one in here]
    assert max(counts) <= budget, counts


@pytest.mark.parametrize(
    ("name", "uniform"),
    [*((name, True) for name in NAMES), ("annealing", False), ("cross_entropy", False), ("optuna", False)],
)
def test_a_single_device_is_found_where_borders_are_dear(name, uniform):
    of = chain(("Convolution", "Relu") * 3)
    cost = SequentialCost(np.tile([1.0, 1.1, 0.9], (6, 1)), submodel_ms=0.5)
    here = [problem(of, n_devices=3, seed=seed) for seed in SEEDS]
    counts = [reached(built(name, one, uniform=uniform), one, cost, 6 * 0.9 + 0.5) for one in here]
    assert max(counts) <= (3 if uniform else 300), counts


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("batch", [1, 7])
def test_each_placement_is_measured_once_and_that_is_the_end(name, batch):
    of = problem(chain(("Add", "Sin", "Relu", "Add", "Sin")))
    placer = built(name, of)
    trials = run_search(placer, of, SequentialCost.random(of.graph, 2), 1000, batch)
    assert len(trials) == 32
    assert {trial.placement.hash for trial in trials} == {placement.hash for placement in every_placement(of)}
    assert not placer.ask(1)


@pytest.mark.parametrize("name", NAMES)
def test_failures_are_avoided(name):
    """Whatever has the first operation on the second device fails: few of the later placements do."""
    of = problem(layered(12, seed=3))
    cost, placer, late = SequentialCost.random(of.graph, 2), built(name, of), []
    for count in range(120):
        (placement,) = placer.ask(1)
        failed = bool(placement.device_of[0])
        placer.tell([trial_of(count, placement, inf if failed else cost.latency_ms(of.graph, placement))])
        late += [failed] if count >= 60 else []
    assert np.mean(late) < 0.35


@pytest.mark.parametrize("name", NAMES)
def test_each_seed_asks_something_else(name):
    asked = [[p.hash for p in built(name, problem(layered(20, seed=1), seed=seed)).ask(10)] for seed in range(2)]
    assert asked[0][:2] == asked[1][:2], "each device alone comes first"
    assert asked[0] != asked[1]


@pytest.mark.parametrize("name", NAMES)
def test_the_settings_of_the_literature_are_settings(name):
    run = effective(f"configs/placers/{name}.toml", (), {})
    assert run.search.placer == name
    found = registry.load("placers", name).config(dict(run.placer))
    assert not found.uniform


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("annealing", {"initial_temperature": 0.001, "final_temperature": 0.1}),
        ("annealing", {"final_temperature": 0.0}),
        ("annealing", {"cooling_factor": 1.0}),
        ("annealing", {"steps_per_temperature": 0}),
        ("cross_entropy", {"samples": 0}),
        ("cross_entropy", {"elites": 0.0}),
        ("cross_entropy", {"smoothing": 1.5}),
        ("cross_entropy", {"mixing": -0.1}),
        ("genetic", {"population": 1}),
        ("genetic", {"elites": 0.0}),
        ("genetic", {"elites": 1.0}),
        ("genetic", {"elites": 0.6, "mutants": 0.5}),
        ("genetic", {"bias": 1.5}),
        ("optuna", {"n_startup_trials": -1}),
        ("optuna", {"n_ei_candidates": 0}),
    ],
)
def test_bad_settings_are_refused(name, settings):
    with pytest.raises(ValueError, match=next(iter(settings))):
        registry.load("placers", name).Config(**settings)
