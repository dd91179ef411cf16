"""The seq2seq placer: presets, what it learns, and how it goes on."""

from __future__ import annotations

import json
from math import inf

import numpy as np
import pytest

from ovplace.core.partition import Partition
from ovplace.errors import ConfigError
from ovplace.placers.seq2seq.policy import Seq2SeqPolicy, adjacency, stay_bias
from ovplace.plugins import registry
from ovplace.seeds import generator
from ovplace.testing.graphs import (
    SequentialCost,
    chain,
    diamond,
    layered,
    optimum_ms,
    problem,
    random_chain,
    run_search,
    trial_of,
)
from tests.asked_hashes import asked_hashes

SEQ2SEQ = registry.load("placers", "seq2seq")
ALTERNATING = SequentialCost.alternating(8, ms_per_byte=1e-4)
SMALL = {"hidden": 16, "attention": 8, "type_size": 8}
LEARNED_ALONE = {"uniform": False, "redraws": 0, "switches": 0.0}
SEEDS = range(2)


def built(of, **settings):
    return SEQ2SEQ.factory(of, SEQ2SEQ.config(SMALL | settings))


def found(of, cost, budget):
    """Return whether the default settings find the optimum, by brute force, in so many measurements."""
    placer, best = SEQ2SEQ.factory(of, SEQ2SEQ.Config()), optimum_ms(of, cost)
    for _ in range(budget // 5):
        if min(trial.measurement.median_ms for trial in run_search(placer, of, cost, 5, batch=5)) < best + 1e-9:
            return True
    return False


@pytest.mark.parametrize("seed", SEEDS)
def test_the_best_of_a_chain_is_found(seed):
    of = problem(random_chain(8, 0), seed=seed)
    cost = SequentialCost.random(of.graph, 0)
    assert found(of, cost, 200)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_best_of_a_diamond_is_found(seed):
    of, cost = problem(diamond(), seed=seed), SequentialCost.random(diamond(), 1)
    assert found(of, cost, 60)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_single_device_is_found_where_borders_are_dear(seed):
    of = problem(chain(("Convolution", "Relu") * 3), n_devices=3, seed=seed)
    assert found(of, SequentialCost(np.tile([1.0, 1.1, 0.9], (6, 1)), submodel_ms=5.0), 10)


@pytest.mark.parametrize("update", [{}, {"epochs": 1, "clip": 0.0, "samples": 10, "entropy": 0.05}], ids=str)
def test_the_policy_itself_learns(update):
    """Beyond keeping the best it saw: nothing is measured first, nothing drawn anew."""
    of = problem(chain(("Add", "Sin") * 4))
    trials = run_search(built(of, **LEARNED_ALONE, **update), of, ALTERNATING, 400, batch=10)
    early, late = (np.mean([trial.measurement.median_ms for trial in part]) for part in (trials[:40], trials[-40:]))
    assert late < early - 2.0
    assert min(trial.measurement.median_ms for trial in trials) == pytest.approx(optimum_ms(of, ALTERNATING))


@pytest.mark.slow
def test_the_paper_preset_learns_which_device_is_faster():
    of = problem(chain(("Add", "Sin") * 4))
    cost = SequentialCost(np.tile([3.0, 1.0], (8, 1)), submodel_ms=0.0)
    trials = run_search(SEQ2SEQ.factory(of, SEQ2SEQ.config({"preset": "paper"})), of, cost, 300, batch=10)
    early, late = (np.mean([trial.measurement.median_ms for trial in part]) for part in (trials[:50], trials[-50:]))
    assert late < early - 4.0


@pytest.mark.slow
@pytest.mark.usefixtures("reversed_advantages")
def test_a_signal_of_the_wrong_sign_learns_the_worst():
    of = problem(chain(("Add", "Sin") * 4))
    trials = run_search(built(of, **LEARNED_ALONE), of, ALTERNATING, 400, batch=10)
    assert np.mean([trial.measurement.median_ms for trial in trials[-40:]]) > 18.0


@pytest.mark.parametrize("preset", ["paper", "tuned"])
def test_failures_make_a_placement_less_likely(preset):
    of = problem(chain(("Add", "Sin") * 3))
    placer = built(of, preset=preset, learning_rate=1e-2, **LEARNED_ALONE)
    tried = []
    for _ in range(30):
        asked = placer.ask(10)
        failing = [bool(placement.device_of[0] == 0) for placement in asked]
        tried += failing
        placer.tell([trial_of(0, p, float("inf") if f else 1.0) for p, f in zip(asked, failing, strict=True)])
    assert np.mean(tried[-60:]) < 0.3


@pytest.mark.parametrize("preset", ["paper", "tuned"])
@pytest.mark.parametrize("rounds", [0, 4, 13])
def test_it_goes_on_as_if_uninterrupted(preset, rounds):
    of = problem(layered(30, seed=1), n_devices=3)
    one, other = (built(of, preset=preset, samples=4) for _ in range(2))
    asked_hashes(one, rounds)
    saved = json.dumps(one.state())
    rest = asked_hashes(one, 12)
    other.restore(json.loads(saved))
    assert asked_hashes(other, 12) == rest


def test_what_is_asked_does_not_depend_on_how_many_at_a_time():
    of = problem(layered(30, seed=1), n_devices=3)
    assert asked_hashes(built(of), 23) == asked_hashes(built(of), 10, batch=3)[:23]


def test_uniform_placements_come_first():
    of = problem(diamond(), n_devices=3)
    assert [placement.used for placement in built(of).ask(5)] == [(name,) for name in of.device_names]
    assert len(built(of, uniform=False).ask(5)) == 5


@pytest.mark.slow
def test_what_was_measured_is_drawn_anew():
    of = problem(chain(("Add", "Sin") * 4))
    distinct = [len(set(asked_hashes(built(of, redraws=redraws, learning_rate=1e-2), 150))) for redraws in (20, 0)]
    assert distinct[0] > 140 > distinct[1]


def test_a_small_space_is_measured_once_and_asked_again():
    of = problem(chain(("Add", "Sin", "Relu")))
    assert len(set(asked_hashes(built(of), 60))) == 8


def test_groups_are_decided_in_topological_order():
    """A chain whose groups are numbered backwards: choices go back to the problem's own numbers."""
    of = problem(chain(("Add", "Sin", "Relu", "MatMul")), partition=Partition(np.array([3, 2, 1, 0])))
    policy = Seq2SeqPolicy(of, SEQ2SEQ.Config())
    assert policy.choices(np.array([[0, 1, 1, 0], [1, 0, 0, 0]])).tolist() == [[0, 1, 1, 0], [0, 0, 0, 1]]
    drawn = policy.draw([generator(0, "test", k) for k in range(3)], 0, np.zeros(3))
    assert drawn.shape == (3, 4)


def test_adjacency_tells_inputs_and_outputs_by_place_in_the_order():
    of = problem(diamond())
    place = np.argsort(of.group_order)
    table = adjacency(of, 256)
    assert table.shape == (6, 12)
    for group in range(6):
        read, readers = (np.flatnonzero(half).tolist() for half in np.split(table[group], 2))
        assert read == sorted(place[list(of.graph.predecessors[group])].tolist())
        assert readers == sorted(place[list(of.graph.successors[group])].tolist())
    assert adjacency(of, 2).shape == (6, 4)


def test_the_inclination_gives_the_wanted_number_of_changes():
    for groups, devices, switches in ((65, 2, 4.0), (300, 3, 10.0)):
        stay = stay_bias(groups, devices, switches)
        changing = (devices - 1) / (np.exp(stay) + devices - 1)
        assert changing * (groups - 1) == pytest.approx(switches)
    assert stay_bias(1, 1, 4.0) == stay_bias(3, 2, 4.0) == 0.0
    assert stay_bias(65, 2, 0.0) is None


def test_what_the_user_sets_goes_before_the_preset():
    found = SEQ2SEQ.config({"preset": "paper", "hidden": 32})
    assert (found.hidden, found.signal, found.redraws) == (32, "sqrt", 0)


@pytest.mark.parametrize(
    "settings",
    [
        {"preset": "best"}, {"hidden": 5}, {"signal": "cube"}, {"redraws": -1}, {"adjacency": 0}, {"switches": -1.0},
        {"switches": inf},
    ],
    ids=str,
)  # fmt: skip
def test_bad_settings_are_refused(settings):
    with pytest.raises(ConfigError, match=rf"bad value in 'placer': .*\b{next(iter(settings))}\b"):
        SEQ2SEQ.config(settings)
