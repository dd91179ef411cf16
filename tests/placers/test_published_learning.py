"""How the presets `paper` of the placers that draw whole placements learn, against the placers that they build."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from ovplace.plugins import registry
from ovplace.testing.graphs import chain, problem, trial_of

RATES = {"seq2seq": 1e-3, "hierarchical": 0.1, "fc_grouper": 1e-2}
SAMPLES = {"seq2seq": 10, "hierarchical": 1, "fc_grouper": 10}
DROPPED_AFTER = {"seq2seq": 100, "hierarchical": 1000, "fc_grouper": 100}

every_name = pytest.mark.parametrize("name", RATES)


def published(name, of=None):
    plugin = registry.load("placers", name)
    return plugin.factory(of or problem(chain(("Add", "Sin") * 5)), plugin.config({"preset": "paper"}))


def weights(placer):
    return {name: value.clone() for name, value in placer._learner.policy.state_dict().items()}


def answer(placer, ratio=1.0):
    """Answer the placements of one update."""
    for number, placement in enumerate(placer.ask(10)):
        placer.tell([trial_of(number, placement, ratio)])


def longest_step(placer):
    """Return by how much an update changes a weight at most: in Adam's first step, by the learning rate."""
    before = weights(placer)
    answer(placer)
    return max(float((value - before[name]).abs().max()) for name, value in weights(placer).items())


@every_name
def test_an_update_is_one_step_of_adam_with_the_learning_rate(name):
    placer = published(name)
    assert longest_step(placer) == pytest.approx(RATES[name], rel=1e-2)
    assert placer.info["updates"] == 1


def test_the_rate_of_the_hierarchical_planner_falls_by_a_twentieth_every_50_updates_after_400():
    for updates, rate in ((449, 0.1), (450, 0.095), (500, 0.09025)):
        placer = published("hierarchical")
        placer._learner.progress.updates = updates
        assert longest_step(placer) == pytest.approx(rate, rel=1e-3)


@every_name
def test_an_update_takes_so_many_placements(name):
    placer, updates = published(name), []
    for number in range(20):
        placer.tell([trial_of(number, placer.ask(1)[0], 1.0)])
        updates.append(placer.info["updates"])
    assert updates == [number // SAMPLES[name] for number in range(1, 21)]


@every_name
def test_the_baseline_starts_at_the_root_of_a_failure_of_100_and_keeps_nine_tenths(name):
    placer = published(name)
    answer(placer, 4.0)
    assert placer._learner.progress.baseline == pytest.approx(0.9 * math.sqrt(100) + 0.1 * math.sqrt(4))


@every_name
@pytest.mark.parametrize("late", [False, True])
def test_a_failure_changes_the_policy_until_the_late_phase(name, late):
    placer = published(name)
    placer._learner.progress.updates = DROPPED_AFTER[name] - (0 if late else 1)
    placer._learner.progress.baseline, placer._learner.progress.variance = 2.0, 1.0
    before = weights(placer)
    answer(placer, math.inf)
    assert all(torch.equal(value, before[name]) for name, value in weights(placer).items()) == late


@every_name
def test_gradients_are_scaled_to_norm_1(name):
    placer = published(name)
    gradients = []
    for parameter in placer._learner.policy.parameters():
        parameter.grad = torch.ones_like(parameter)
        gradients.append(parameter.grad)
    placer._learner._optimiser.step(placer._settings.max_grad_norm, 0.0)
    together = torch.cat([gradient.flatten().double() for gradient in gradients])
    assert float(together.norm()) == pytest.approx(1.0, rel=1e-2)


@every_name
def test_every_draw_is_asked_for_and_nothing_before(name):
    of = problem(chain(("Add", "Sin") * 2), n_devices=2)
    assert of.n_placements == 16
    placer, asked = published(name, of), []
    for number in range(14):
        asked += placer.ask(1)
        placer.tell([trial_of(number, asked[-1], 1.0)])
    assert len({placement.hash for placement in asked}) < len(asked)
    first = published(name, problem(chain(("Add",) * 40), n_devices=2)).ask(1)[0]
    assert len(np.unique(first.device_of)) == 2, "no device alone"
