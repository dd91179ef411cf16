"""Episodes while answers are late, and that there is one after the other where none is."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from ovplace.placers._base.controllers import MOST_CONTROLLERS
from ovplace.placers.hsdag.learner import UpdateSettings
from ovplace.plugins import registry
from ovplace.seeds import generator
from ovplace.testing.graphs import chain, layered, problem, trial_of

HSDAG = registry.load("placers", "hsdag")
OF = replace(problem(layered(30, seed=1), n_devices=3), features=np.eye(30))
PAPER = {"preset": "paper", "hidden": 8, "steps": 3, "nodes": "groups"}
TUNED = {"hidden": 8, "steps": 3, "warm_start": 0, "uniform": False}


def built(settings, of=OF, **changed):
    return HSDAG.factory(of, HSDAG.config(settings | changed))


def ratio(placement):
    return 1 + int(placement.hash[:4], 16) / 2**16


def tell(placer, *placements):
    placer.tell([trial_of(0, placement, ratio(placement)) for placement in placements])


def answered(placer, asks):
    found = []
    for n in asks:
        asked = placer.ask(n)
        tell(placer, *asked)
        found += [placement.hash for placement in asked]
    return found


def one_after_the_other(episodes):
    """Return what the published method asks: an episode is drawn from the policy that has learned from the last one."""
    placer, found = built(PAPER), []
    learner, once = placer._learner, UpdateSettings(epochs=4, clip=0.0, entropy=0.0, max_grad_norm=0.0)
    for update in range(episodes):
        rollout, ratios = placer._new_rollout(), []
        for step in range(3):
            rng = generator(OF.seed, "placer", "hsdag", "step", update, step)
            placement = OF.lift(rollout.draw(learner.policy, rng))
            found.append(placement.hash)
            ratios.append(ratio(placement))
        weights = 0.95 ** np.arange(1, 4) / np.array(ratios)
        seed = int(generator(OF.seed, "placer", "hsdag", "update", update).integers(2**31))
        learner.learn(rollout, weights, once, seed)
    return found


@pytest.mark.parametrize("asks", [[1] * 12, [2, 1, 4, 9, 2, 1]], ids=str)
def test_with_nothing_open_there_is_one_episode_after_the_other(asks):
    assert answered(built(PAPER), asks) == one_after_the_other(4)


@pytest.mark.parametrize("settings", [PAPER, TUNED], ids=["paper", "tuned"])
def test_while_an_answer_is_late_others_are_begun_and_learned(settings):
    placer = built(settings)
    late, *asked = placer.ask(9)
    assert len(asked) == 2, "with nothing open there is one episode"
    tell(placer, *asked)
    for updates in range(3):
        assert placer.info["updates"] == updates
        tell(placer, *placer.ask(3))
    tell(placer, late)
    assert placer.info["updates"] == 4


def test_an_episode_that_was_drawn_by_other_costs_is_dropped():
    placer = built(TUNED)
    first, late = placer.ask(2)
    tell(placer, first)
    state = json.loads(json.dumps(placer.state()))
    completed = replace(OF, costs=replace(OF.costs, group_ms=2 * OF.costs.group_ms))
    for of, asked in ((OF, 1), (completed, 3)):
        other = built(TUNED, of)
        other.restore(state)
        tell(other, late)
        assert len(other.ask(3)) == asked, "the rest of an episode, or a new one"
        assert other.info["updates"] == 0


def test_no_more_are_begun_than_there_may_be():
    placer = built(TUNED, redraws=0)
    assert len(placer.ask(1) + placer.ask(1000)) == 3 * MOST_CONTROLLERS
    assert not placer.ask(1)
    placer = built(PAPER, episodes=2)
    asked = placer.ask(1) + placer.ask(1000)
    assert len(asked) == 6
    tell(placer, *asked)
    assert not placer.ask(1)


def test_nothing_is_drawn_that_is_open():
    placer = built(TUNED, problem(chain(("Add", "Sin") * 5)), steps=5)
    asked = placer.ask(1) + placer.ask(30)
    assert len({placement.hash for placement in asked}) == 31


def test_a_late_episode_is_learned_at_the_weights_it_was_drawn_from(monkeypatch):
    placer, seen = built(TUNED), []
    learn = placer._learner.learn

    def noted(*learned):
        seen.append(learned[-1])
        learn(*learned)

    monkeypatch.setattr(placer._learner, "learn", noted)
    first = placer._learner.dump()
    late, *asked = placer.ask(3)
    tell(placer, *placer.ask(3))
    tell(placer, *asked, late)
    assert seen == ["", first]


def test_an_episode_is_drawn_to_its_end_with_its_own_weights_and_goes_on_the_same():
    placer, other = (built(TUNED, steps=4, grouping="fixed") for _ in range(2))
    asked = placer.ask(4)
    begun = placer.ask(2)
    tell(placer, *asked)
    assert placer.info["updates"] == 1
    other.restore(json.loads(json.dumps(placer.state())))
    rollouts = [p._episodes[1].rollout for p in (placer, other)]
    assert len(rollouts[0].steps) == 4
    assert [s.log_p for s in rollouts[0].steps] == pytest.approx([s.log_p for s in rollouts[1].steps])
    rest = [p.ask(2) for p in (placer, other)]
    for resumed, placements in zip((placer, other), rest, strict=True):
        tell(resumed, *placements, *begun)
    assert answered(placer, [4, 2, 3]) == answered(other, [4, 2, 3])
    assert placer._learner.dump() == other._learner.dump()


def test_rewards_relative_to_the_cpu_wait_for_its_latency():
    placer = built(PAPER, preset="paper-log", uniform=True)
    late, *asked = placer.ask(3)
    tell(placer, *asked[1:])
    tell(placer, late)
    assert not placer.ask(5)
    tell(placer, asked[0])
    assert len(placer.ask(5)) == 3
