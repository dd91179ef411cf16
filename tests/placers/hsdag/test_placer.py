"""HSDAG's presets, what it learns, and how it goes on."""

from __future__ import annotations

import json
from dataclasses import replace
from math import inf, log

import numpy as np
import pytest

from ovplace.core.device import Device
from ovplace.cost.evaluate.latency import latency_ms
from ovplace.errors import ConfigError
from ovplace.placers.hsdag.progress import HsdagProgress
from ovplace.placers.hsdag.rollout import Rollout
from ovplace.plugins import registry
from ovplace.testing.graphs import SequentialCost, chain, diamond, layered, optimum_ms, problem, run_search, trial_of
from ovplace.testing.placements import optimum
from tests.asked_hashes import asked_hashes

HSDAG = registry.load("placers", "hsdag")
ALTERNATING = SequentialCost.alternating(8, ms_per_byte=1e-4)
SMALL = {"hidden": 16, "steps": 5}
LEARNED_ALONE = {"uniform": False, "warm_start": 0, "cost_features": False, "redraws": 0}


def built(of, **settings):
    return HSDAG.factory(of, HSDAG.config(SMALL | settings))


def described(of):
    """Give a problem features: which operation it is."""
    return replace(of, features=np.eye(len(of.graph)))


def test_what_the_user_sets_goes_before_the_preset():
    found = HSDAG.config({"preset": "paper", "learning_rate": 1e-3, "nodes": "groups"})
    assert (found.learning_rate, found.nodes, found.dropout) == (1e-3, "groups", 0.2)


@pytest.mark.parametrize(
    "settings",
    [
        {"preset": "best"},
        {"encoder": "mlp"},
        {"nodes": "layers"},
        {"dropout": 1.0},
        {"learning_rate": -1e-4},
        {"learning_rate": float("inf")},
        {"returns": "sum"},
        {"pooled_edges": "all"},
        {"pooled_input": "raw"},
        {"steps": 0},
        {"levels": -1},
        {"top_fraction": 1.5},
        {"top_fraction": 0.5, "returns": "episode"},
        {"discount": 2.0},
    ],
)
def test_bad_settings_are_refused(settings):
    with pytest.raises(ConfigError, match=rf"bad value in 'placer': .*\b{next(iter(settings))}\b"):
        HSDAG.config(settings)


def test_only_a_warm_start_needs_costs():
    needs = [HSDAG.factory.needs_costs(HSDAG.config(s)) for s in ({}, {"warm_start": 0}, {"preset": "paper"})]
    assert needs == [True, False, False]


PAIRWISE = [
    ("parsed", 0, "operations", False), ("parsed", 1, "groups", True), ("parsed", 2, "operations", True),
    ("drawn", 0, "groups", True), ("drawn", 1, "operations", False), ("drawn", 2, "groups", False),
    ("random", 0, "operations", True), ("random", 1, "groups", False), ("random", 2, "operations", False),
    ("fixed", 0, "groups", False), ("fixed", 1, "operations", True), ("fixed", 2, "groups", True),
]  # fmt: skip
"""Every value of each setting with every value of each other one."""


@pytest.mark.parametrize(("grouping", "levels", "nodes", "state_update"), PAIRWISE)
def test_every_combination_learns_and_goes_on_as_if_uninterrupted(grouping, levels, nodes, state_update):
    of = described(problem(layered(30, seed=1), n_devices=3))
    settings = {"grouping": grouping, "levels": levels, "nodes": nodes, "state_update": state_update, "dropout": 0.1}
    one, other = (built(of, **settings, reward="log", steps=4, warm_start=2) for _ in range(2))
    asked_hashes(one, 15)
    saved = json.dumps(one.state())
    rest = asked_hashes(one, 10)
    other.restore(json.loads(saved))
    assert asked_hashes(other, 10) == rest


@pytest.mark.parametrize("state_update", [False, True])
def test_dropout_while_drawing_tries_other_groups_and_goes_on_as_if_uninterrupted(state_update):
    of = described(problem(layered(30, seed=1)))
    settings = {"preset": "paper", "nodes": "groups", "state_update": state_update, "steps": 10}
    dropped, plain = (built(of, **settings, sampling_dropout=on) for on in (True, False))
    for placer in (dropped, plain):
        asked_hashes(placer, 8)
    assert len(dropped._episodes[0].rollout.encodings) == 8
    assert len({encoding.levels[0].labels.tobytes() for encoding in dropped._episodes[0].rollout.encodings}) > 1
    assert len(plain._episodes[0].rollout.encodings) == (8 if state_update else 1)
    saved, other = json.dumps(dropped.state()), built(of, **settings, sampling_dropout=True)
    rest = asked_hashes(dropped, 15)
    other.restore(json.loads(saved))
    assert asked_hashes(other, 15) == rest


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "update"), [(0, {"clip": 0.2}), (1, {"clip": 0.0}), (2, {"top_fraction": 0.25})])
def test_fixed_groups_learn_where_each_belongs(seed, update):
    of = described(problem(chain(("Add", "Sin") * 4), seed=seed))
    settings = {"grouping": "fixed", "hidden": 32, "steps": 20, "learning_rate": 3e-3} | LEARNED_ALONE | update
    plugin = HSDAG.config(settings)
    trials = run_search(HSDAG.factory(of, plugin), of, ALTERNATING, 600)
    late = np.mean([trial.measurement.median_ms for trial in trials[-100:]])
    early = np.mean([trial.measurement.median_ms for trial in trials[:40]])
    assert min(trial.measurement.median_ms for trial in trials) == pytest.approx(optimum_ms(of, ALTERNATING))
    assert late < early - 2.0, "the policy itself gets better, beyond keeping the best it saw"


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({}, [0.95 / 0.5, 0.95**2 / 2.0, -(0.95**3)]),
        ({"discount": 1.0}, [1 / 0.5, 1 / 2.0, -1.0]),
        ({"reward": "log"}, [0.95 * log(2), -(0.95**2) * log(2), -(0.95**3) * log(4)]),
    ],
    ids=str,
)
def test_steps_count_as_equation_14_says(monkeypatch, changed, expected):
    seen = weights_of(monkeypatch, [0.5, 2.0, inf], preset="paper", **changed)
    np.testing.assert_allclose(seen, expected)


def test_with_a_baseline_the_usual_teaches_nothing(monkeypatch):
    settings = {"preset": "paper", "baseline": True, "discount": 1.0}
    assert weights_of(monkeypatch, [1.5, 1.5, 1.5], **settings) == [0.0, 0.0, 0.0]
    fast, slow, failed = weights_of(monkeypatch, [1.0, 2.0, inf], **settings)
    assert failed < 0 < slow < fast
    assert fast + slow + failed == pytest.approx(0.0)


def notes_of(devices, fails):
    of = replace(described(problem(diamond())), devices=tuple(Device(name, name) for name in devices))
    placer = built(of, preset="paper-log", steps=2)
    first = placer.ask(1)
    placer.tell([trial_of(0, first[0], inf if fails else 2.0)])
    assert not placer.notes, "nothing was learned yet"
    asked_hashes(placer, 2)
    return placer.notes


def test_rewards_that_are_relative_to_something_else_than_the_cpu_are_noted():
    assert notes_of(("GPU", "CPU"), fails=False) == ()
    assert notes_of(("GPU", "CPU"), fails=True) == (
        "placer.reward=log_cpu: rewards are relative to the fastest single device, as CPU alone failed",
    )
    assert notes_of(("GPU", "NPU"), fails=False) == (
        "placer.reward=log_cpu: rewards are relative to NPU alone, as there is no CPU",
    )


def test_a_top_fraction_learns_nothing_from_failures(monkeypatch):
    assert weights_of(monkeypatch, [inf, 2.0, 1.0, inf], top_fraction=0.75, **LEARNED_ALONE) == [0.0, 1.0, 1.0, 0.0]


def weights_of(monkeypatch, ratios, **settings):
    """Return what one buffer's steps count whose placements took that long, infinite for a failure."""
    placer, seen = built(described(problem(chain(("Add", "Sin") * 4))), steps=len(ratios), **settings), []
    monkeypatch.setattr(placer._learner, "learn", lambda rollout, weights, *_: seen.extend(weights))
    for number, ratio in enumerate(ratios):
        asked = placer.ask(1)[0]
        placer.tell([trial_of(number, asked, ratio)])
    return seen


@pytest.mark.slow
def test_a_reward_of_the_wrong_sign_learns_the_worst(monkeypatch):
    of = described(problem(chain(("Add", "Sin") * 4)))
    settings = HSDAG.config({"grouping": "fixed", "hidden": 32, "learning_rate": 3e-3} | LEARNED_ALONE)
    right = HsdagProgress.step_weights
    monkeypatch.setattr(HsdagProgress, "step_weights", lambda *args: -right(*args))
    trials = run_search(HSDAG.factory(of, settings), of, ALTERNATING, 600)
    assert np.mean([trial.measurement.median_ms for trial in trials[-100:]]) > 16.0


def test_uniform_placements_come_first_and_then_the_optimum_of_the_model():
    of = described(problem(diamond(), n_devices=3))
    placer = built(of, warm_start=5)
    *alone, best = (placer.ask(1)[0] for _ in range(4))
    assert [placement.used for placement in alone] == [(name,) for name in of.device_names]
    assert latency_ms(of.costs, of.lower(best)[None])[0] == pytest.approx(optimum(of.costs, latency_ms))
    assert placer.info["groups"] == 0  # nothing was drawn yet


def test_imitation_makes_the_imitated_likely():
    of = described(problem(layered(20, seed=4)))
    warm, cold = (
        built(of, warm_start=n, uniform=False, grouping="fixed", cost_features=False, redraws=0) for n in (200, 0)
    )
    best = warm.ask(1)[0]
    agreement = [
        np.mean([np.mean(p.device_of == best.device_of) for p in (placer.ask(1)[0] for _ in range(5))])
        for placer in (warm, cold)
    ]
    assert agreement[0] > 0.8 > agreement[1]


@pytest.mark.slow
def test_failures_make_a_placement_less_likely():
    of = described(problem(chain(("Add", "Sin") * 3)))
    for preset in ("paper", "tuned"):
        placer = built(
            of, preset=preset, uniform=False, warm_start=0, learning_rate=1e-2, grouping="fixed", steps=20, redraws=0
        )
        tried = []
        for number in range(300):
            asked = placer.ask(1)
            failing = [bool(placement.device_of[0] == 0) for placement in asked]
            tried += failing
            placer.tell([trial_of(number, p, float("inf") if f else 1.0) for p, f in zip(asked, failing, strict=True)])
        assert np.mean(tried[-60:]) < 0.2, preset


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_parsing_learns_to_part_what_belongs_apart(seed):
    """Pairs belong on different devices; a group of two of them cannot be placed well."""
    of = described(problem(chain(("Convolution", "Relu", "Sin", "MatMul") * 2), seed=seed))
    table = {"Convolution": (1, 3), "Relu": (1, 3), "Sin": (3, 1), "MatMul": (3, 1)}
    cost = SequentialCost.by_kind(of.graph, table)
    trials = run_search(built(of, steps=20, hidden=32, learning_rate=3e-3, **LEARNED_ALONE), of, cost, 600)
    assert min(trial.measurement.median_ms for trial in trials) == pytest.approx(optimum_ms(of, cost))


@pytest.mark.slow
def test_drawn_groups_part_what_a_parse_cannot():
    """In a parse no operation is alone; here every second one belongs elsewhere."""
    of = described(problem(chain(("Add", "Sin") * 4)))
    for grouping, reached in (("drawn", True), ("parsed", False)):
        placer = built(of, grouping=grouping, levels=1, steps=20, hidden=32, learning_rate=3e-3, **LEARNED_ALONE)
        best = min(trial.measurement.median_ms for trial in run_search(placer, of, ALTERNATING, 600))
        assert (best == pytest.approx(optimum_ms(of, ALTERNATING))) == reached, (
            grouping,
            best,
        )


@pytest.mark.slow
def test_what_was_measured_is_drawn_anew():
    of = described(problem(chain(("Add", "Sin") * 4)))
    distinct = [len(set(asked_hashes(built(of, warm_start=0, redraws=redraws), 100))) for redraws in (20, 0)]
    assert distinct[0] > 70 > distinct[1]


def test_nothing_is_drawn_again_where_all_placements_are_known(monkeypatch):
    drawn, draw = [], Rollout.draw

    def counted(self, *args, **rest):
        drawn.append(draw(self, *args, **rest))
        return drawn[-1]

    monkeypatch.setattr(Rollout, "draw", counted)
    placer = built(described(problem(chain(("Add", "Sin")))), warm_start=0)
    assert len(set(asked_hashes(placer, 20))) == 4, "all that there are"
    drawn.clear()
    assert len(asked_hashes(placer, 20)) == len(drawn) == 20
