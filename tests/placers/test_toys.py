"""Searches against the oracle, on problems small enough to know the answer."""

from __future__ import annotations

import numpy as np
import pytest

from ovplace.core.partition import Partition
from ovplace.plugins import registry
from ovplace.testing.graphs import (
    SequentialCost,
    chain,
    diamond,
    every_placement,
    graph,
    layered,
    optimum_ms,
    problem,
    random_chain,
    run_search,
)

SEEDS = range(5)

POLICIES = {"hsdag", "seq2seq", "hierarchical", "fc_grouper"}
"""These draw from a policy, which may say what it said before: the store answers."""


def search(name, of, cost, budget, batch=1):
    plugin = registry.load("placers", name)
    return run_search(plugin.factory(of, plugin.Config()), of, cost, budget, batch)


def best_ms(trials):
    return min(trial.measurement.median_ms for trial in trials)


def sine_network(seed):
    """Convolution, add, multiply and sine, five times over; only the sines are faster on the other device."""
    of = chain(("Convolution", "Add", "Multiply", "Sin") * 5)
    table = {"Convolution": (1.0, 3.0), "Add": (0.3, 0.4), "Multiply": (0.3, 0.35), "Sin": (3.0, 0.5)}
    return problem(of, seed=seed), SequentialCost.by_kind(of, table)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("instance", range(3))
def test_local_search_finds_the_best_of_a_chain(instance, seed):
    of = random_chain(8, instance)
    cost = SequentialCost.random(of, instance)
    assert best_ms(search("local_search", problem(of, seed=seed), cost, 60)) == pytest.approx(
        optimum_ms(problem(of), cost)
    )


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("instance", range(3))
def test_local_search_finds_the_best_of_a_diamond(instance, seed):
    cost = SequentialCost.random(diamond(), instance)
    trials = search("local_search", problem(diamond(), seed=seed), cost, 40)
    assert best_ms(trials) == pytest.approx(optimum_ms(problem(diamond()), cost))


@pytest.mark.parametrize("name", ["local_search", "cut", "single_device"])
@pytest.mark.parametrize("seed", SEEDS)
def test_a_single_device_is_found_where_borders_are_dear(name, seed):
    of = problem(chain(("Convolution", "Relu") * 3), n_devices=3, seed=seed)
    cost = SequentialCost(np.tile([1.0, 1.1, 0.9], (6, 1)), submodel_ms=5.0)
    trials = search(name, of, cost, 40)
    assert best_ms(trials) == pytest.approx(optimum_ms(of, cost)) == pytest.approx(6 * 0.9 + 5.0)


@pytest.mark.parametrize("batch", [1, 4])
@pytest.mark.parametrize("seed", SEEDS)
def test_local_search_finds_the_kind_that_runs_better_elsewhere(seed, batch):
    of, cost = sine_network(seed)
    sines = of.lift([int(kind == "Sin") for kind in of.graph.types])
    trials = search("local_search", of, cost, 30, batch)
    assert best_ms(trials) <= cost.latency_ms(of.graph, sines) + 1e-9


@pytest.mark.parametrize("seed", SEEDS)
def test_local_search_combines_kinds(seed):
    of = chain(("Convolution", "MatMul", "Sin", "Relu") * 4)
    table = {"Convolution": (1, 3), "MatMul": (3, 1), "Sin": (3, 0.5), "Relu": (1, 2)}
    cost = SequentialCost.by_kind(of, table)
    best = problem(of, seed=seed).lift([int(kind in ("MatMul", "Sin")) for kind in of.types])
    assert best_ms(search("local_search", problem(of, seed=seed), cost, 30)) <= cost.latency_ms(of, best) + 1e-9


def test_local_search_sends_each_kind_to_its_own_of_three_devices():
    of = chain(("Convolution", "Sin", "MatMul") * 4)
    table = {"Convolution": (1, 5, 5), "Sin": (5, 1, 5), "MatMul": (5, 5, 1)}
    cost = SequentialCost.by_kind(of, table)
    trials = search("local_search", problem(of, n_devices=3), cost, 30)
    assert best_ms(trials) == pytest.approx(cost.latency_ms(of, problem(of, 3).lift([0, 1, 2] * 4)))


def test_local_search_knows_a_kind_by_what_runs_not_by_its_weights():
    types = ("Constant", "Convert", "MatMul", "Sin") * 4
    edges = [(4 * i + a, 4 * i + b) for i in range(4) for a, b in ((0, 1), (1, 2), (2, 3))]
    edges += [(4 * i + 3, 4 * i + 6) for i in range(3)]
    of = graph(types, edges)
    table = {"Constant": (0, 0), "Convert": (0, 0), "MatMul": (1, 3), "Sin": (3, 1)}
    cost = SequentialCost.by_kind(of, table)
    groups = weights_with_consumers(of)
    sines = problem(of, partition=groups).lift([0, 1] * 4)
    trials = search("local_search", problem(of, partition=groups), cost, 8)
    assert best_ms(trials) <= cost.latency_ms(of, sines) + 1e-9


def weights_with_consumers(of):
    """Constant and Convert join the MatMul that follows them."""
    return Partition.from_labels([i + (i % 4 < 2) * (2 - i % 4) for i in range(len(of))])


def test_nothing_is_asked_twice():
    of = problem(layered(20, seed=5), n_devices=3)
    for name in sorted({*registry.names("placers")} - POLICIES):
        trials = search(name, of, SequentialCost.random(of.graph, 1, 3), 40, batch=3)
        assert len({trial.placement.hash for trial in trials}) == len(trials), name


def test_random_and_local_search_end_when_every_placement_was_measured():
    of = problem(chain(("Add", "Sin", "Relu", "Add", "Sin")))
    every = {placement.hash for placement in every_placement(of)}
    assert len(every) == 32
    for name in ("random", "local_search"):
        trials = search(name, of, SequentialCost.random(of.graph, 2), 1000)
        assert {trial.placement.hash for trial in trials} == every, name


def test_cut_measures_every_cut_once_and_finds_the_best_early():
    of = problem(chain(("Convolution", "Add", "Relu") * 20))
    slope = np.linspace(0.0, 2.0, 60)
    cost = SequentialCost(np.stack([slope, 2.0 - slope], axis=1))
    trials = search("cut", of, cost, 1000)
    assert len(trials) == 2 * 59 + 2  # a cut at each of 59 places in two directions, and the two uniform placements
    assert best_ms(trials[:30]) == pytest.approx(best_ms(trials))
    assert best_ms(trials) == pytest.approx(
        min(cost.latency_ms(of.graph, of.lift(np.arange(60) >= p)) for p in range(61))
    )


def test_cut_asks_no_equal_cuts_where_a_device_can_run_little():
    of = layered(40, seed=6)
    supported = np.ones((40, 2), dtype=bool)
    supported[2:, 1] = False
    trials = search("cut", problem(of, supported=supported), SequentialCost.random(of, 3), 1000)
    assert len({trial.placement.hash for trial in trials}) == len(trials) <= 4


def test_a_grid_of_cut_that_is_finer_than_the_model_is_every_place():
    of = problem(chain(("Add", "Sin") * 3))
    cut = registry.load("placers", "cut")
    placer = cut.factory(of, cut.config({"grid": 10**12}))  # it would take 7 TiB
    assert len(placer.ask(20)) == 2 * 5 + 2


def test_single_device_asks_each_device_once():
    of = problem(diamond(), n_devices=3)
    trials = search("single_device", of, SequentialCost.random(diamond(), 4, 3), 10)
    assert [trial.placement.used for trial in trials] == [(name,) for name in of.device_names]


def test_random_draws_many_granularities():
    of = problem(chain(("Add", "Sin") * 50))
    trials = search("random", of, SequentialCost.random(of.graph, 5), 100)
    regions = [int((np.diff(trial.placement.device_of) != 0).sum()) + 1 for trial in trials]
    assert min(regions) <= 3
    assert max(regions) >= 40


@pytest.mark.parametrize(("groups", "share"), [(19, 0.10), (176, 0.06)])
def test_so_many_draws_of_random_are_one_region_as_the_page_says(groups, share):
    random = registry.load("placers", "random")
    placer = random.factory(problem(chain(("Add",) * groups)), random.config({}))
    single = [not placer._segments().any() for _ in range(10_000)]
    assert np.mean(single) == pytest.approx(share, abs=0.01)


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("random", {"independent": 2.0}),
        ("cut", {"grid": 0}),
        ("local_search", {"initial_temperature": 0.001, "final_temperature": 0.1}),
        ("local_search", {"initial_temperature": np.inf}),
        ("local_search", {"cooling_steps": 0}),
    ],
)
def test_bad_settings_are_refused(name, settings):
    with pytest.raises(ValueError, match=next(iter(settings))):
        registry.load("placers", name).Config(**settings)


@pytest.mark.parametrize("batch", [1, 7])
def test_local_search_ends_when_every_placement_was_measured(batch):
    of = problem(chain(("Add",) * 6))
    trials = search("local_search", of, SequentialCost.random(of.graph, 1), 300, batch)
    assert len({trial.placement.hash for trial in trials}) == len(trials) == of.n_placements == 64


@pytest.mark.parametrize("name", ["dp", "milp", "single_device"])
def test_who_ignores_answers_does_not_wait_for_them(name):
    plugin = registry.load("placers", name)
    placer = plugin.factory(problem(random_chain(8, 0), 2), plugin.config({}))
    first, second = placer.ask(1), placer.ask(1)
    assert placer.asynchronous
    assert first[0].hash not in {placement.hash for placement in second}
