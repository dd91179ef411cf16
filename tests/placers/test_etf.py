from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ovplace.core.partition import Partition
from ovplace.cost.evaluate.latency import latency_ms, pairwise_ms
from ovplace.placers.etf.greedy import GreedyPass, PartialPlacement
from ovplace.plugins import registry
from ovplace.seeds import generator
from ovplace.testing.graphs import chain, layered, problem, random_chain
from ovplace.testing.placements import optimum

ETF = registry.load("placers", "etf")


def asked(of, **settings):
    placements = ETF.factory(of, ETF.Config(**settings)).ask(10_000)
    return np.array([of.lower(placement) for placement in placements]).reshape(-1, of.n_groups)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("n_devices", [2, 3])
def test_the_look_ahead_is_exact_on_chains(seed, n_devices):
    of = problem(random_chain(7, seed), n_devices, seed=seed)
    best = asked(of, weights=(1.0,), draws=0)[:1]
    assert latency_ms(of.costs, best)[0] == pytest.approx(optimum(of.costs, latency_ms))


@pytest.mark.parametrize("seed", range(10))
def test_what_groups_add_is_what_the_model_says(seed):
    """Of any devices, in any order: on a graph with cycles of groups, too."""
    partition = None if seed % 2 else Partition(np.arange(24) % 12)
    of = problem(layered(24, seed=seed), 3, seed=seed, partition=partition)
    bare = replace(of.costs, submodel_ms=np.zeros(3))
    greedy, state, rng = GreedyPass(of, bare, 1.0), PartialPlacement(bare), generator(seed, "testing", "order")
    total = 0.0
    for group in rng.permutation(of.n_groups).tolist():
        device = int(rng.integers(3))
        total += greedy.added_ms(group, state)[device]
        state.put(group, device)
    assert total == pytest.approx(pairwise_ms(bare, state.device_of[None])[0])


@pytest.mark.parametrize("seed", range(5))
def test_each_choice_of_a_pass_adds_least(seed):
    of = problem(layered(20, seed=seed), 3, seed=seed)
    greedy, state = GreedyPass(of, of.costs, 1.0), PartialPlacement(of.costs)
    found = greedy.in_order(np.zeros((20, 3)), np.ones((20, 3)))
    for group in of.group_order.tolist():
        assert found[group] == greedy.added_ms(group, state).argmin()
        state.put(group, int(found[group]))


def test_ready_groups_are_placed_after_what_they_read():
    of = problem(layered(20, seed=2), 2)
    order = []

    class Recorded(GreedyPass):
        def added_ms(self, group, state):
            order.append((group, state.device_of.copy()))
            return super().added_ms(group, state)

    greedy = Recorded(of, of.costs, 1.0)
    assert greedy.ready_first(np.zeros((20, 2))).min() >= 0
    for group, placed in order:
        assert (placed[list(of.graph.predecessors[group])] >= 0).all()


def test_the_best_under_the_model_comes_first_and_none_twice():
    of = problem(layered(30, seed=4), n_devices=3)
    found = asked(of)
    assert (np.diff(latency_ms(of.costs, found)) >= 0).all()
    assert len(np.unique(found, axis=0)) == len(found) > 5


def test_a_full_device_is_passed_over():
    of = problem(chain(["Add"] * 10))
    eager = replace(of.costs, group_ms=np.tile([1.0, 50.0], (10, 1)), group_bytes=np.ones(10))
    assert (asked(replace(of, costs=eager)) == 0).all(axis=1).any()
    small = replace(eager, memory_bytes=np.array([4.0, 6.0]))
    found = asked(replace(of, costs=small))
    assert len(found)
    assert ((found == 0).sum(axis=1) == 4).all()


def test_nothing_is_proposed_where_memory_does_not_suffice():
    of = problem(chain(["Add"] * 10))
    tiny = replace(of.costs, group_bytes=np.ones(10), memory_bytes=np.array([4.0, 4.0]))
    assert not len(asked(replace(of, costs=tiny)))


@pytest.mark.parametrize(
    "settings",
    [
        {"weights": ()},
        {"weights": (-1.0,)},
        {"weights": (np.inf,)},
        {"draws": -1},
        {"cost_noise": -0.1},
        {"cost_noise": np.nan},
    ],
)
def test_bad_settings_are_refused(settings):
    with pytest.raises(ValueError, match="non-negative"):
        ETF.Config(**settings)
