"""Several controllers: batches measured at the same time, each learned from at the weights it was drawn from."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import torch

from ovplace.learning.initialise import seeded
from ovplace.learning.reinforce import Reinforce
from ovplace.placers._base.controllers import MOST_CONTROLLERS
from ovplace.placers.seq2seq.policy import Seq2SeqPolicy
from ovplace.plugins import registry
from ovplace.seeds import generator
from ovplace.testing.graphs import SequentialCost, chain, problem, trial_of

SEQ2SEQ = registry.load("placers", "seq2seq")
CONFIG = SEQ2SEQ.config({"preset": "paper", "hidden": 8, "attention": 4, "samples": 3, "controllers": 2})
OF, COST = problem(chain(("Add", "Sin") * 4), seed=1), SequentialCost.alternating(8)


def answered(placer, asks):
    """Ask and answer so many batches of the given sizes; return what was asked."""
    found = []
    for n in asks:
        placements = placer.ask(n)
        placer.tell([trial_of(len(found) + i, p, COST.latency_ms(OF.graph, p)) for i, p in enumerate(placements)])
        found += placements
    return [placement.hash for placement in found]


def test_controllers_take_turns_and_update_when_their_batch_is_answered():
    placer = SEQ2SEQ.factory(OF, CONFIG)
    updates = []
    for _ in range(13):
        answered(placer, [1])
        updates.append(int(placer.info["updates"]))
    grown = [number for number, (before, after) in enumerate(pairwise(updates), start=2) if after > before]
    assert grown == [5, 6, 11, 12], "three samples each, in turns"
    assert len(placer.ask(10)) == 5, "no more than the open batches hold"


def test_a_gradient_is_that_at_the_weights_which_the_batch_was_drawn_from():
    policies = [seeded(lambda: Seq2SeqPolicy(OF, CONFIG), 0) for _ in range(2)]
    late, fresh = (Reinforce(policy, CONFIG) for policy in policies)
    first, second = (
        policies[0].draw([np.random.default_rng(k) for k in pair], 0, np.zeros(2)) for pair in ((0, 1), (2, 3))
    )
    ratios, drawn_from = np.array([0.5, 2.0]), late.dump()
    for learner, text in ((late, drawn_from), (fresh, "")):
        learner.learn(first, ratios)
        learner.learn(second, ratios, text)
    weights = [torch.cat([p.detach().flatten() for p in policy.parameters()]) for policy in policies]
    assert not torch.allclose(*weights, atol=1e-7), "the second gradient is one update old"
    late.restore(drawn_from)
    fresh.restore(drawn_from)
    late.learn(second, ratios, drawn_from)
    fresh.learn(second, ratios)
    weights = [torch.cat([p.detach().flatten() for p in policy.parameters()]) for policy in policies]
    assert torch.equal(*weights), "nothing changed in between"


def test_a_search_that_goes_on_asks_the_same():
    whole, begun, resumed = (SEQ2SEQ.factory(OF, CONFIG) for _ in range(3))
    asks = [2, 2, 1, 3, 2, 2, 4, 2]
    expected = answered(whole, asks)
    found = answered(begun, asks[:3])
    resumed.restore(begun.state())
    assert found + answered(resumed, asks[3:]) == expected


SMALL = {"seq2seq": {}, "fc_grouper": {"group_hidden": 8}, "hierarchical": {"group_hidden": 8, "attention": 4}}
LEARNED_ALONE = {"uniform": False, "redraws": 0, "hidden": 8, "samples": 3}


def small(name, **settings):
    plugin = registry.load("placers", name)
    return plugin.factory(OF, plugin.config(LEARNED_ALONE | SMALL[name] | settings))


def one_after_the_other(name, batches):
    """Return what is asked where each batch is drawn from the policy that has learned from all before it."""
    placer, found = small(name), []
    learner, policy = placer._learner, placer._learner.policy
    for update in range(batches):
        rngs = [generator(OF.seed, "placer", name, "sample", update, number, 0) for number in range(3)]
        actions = policy.draw(rngs, update, np.zeros(3))
        placements = [OF.lift(choice) for choice in policy.choices(actions)]
        learner.learn(actions, np.array([COST.latency_ms(OF.graph, placement) for placement in placements]))
        found += [placement.hash for placement in placements]
    return found


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("asks", [[1] * 15, [4, 2] * 5, [9] * 5], ids=str)
def test_with_nothing_open_there_is_one_batch_after_the_other(name, asks):
    found = answered(small(name), asks)
    assert found == one_after_the_other(name, 7)[: len(found)]


def tell(placer, *placements):
    placer.tell([trial_of(0, p, COST.latency_ms(OF.graph, p)) for p in placements])


@pytest.mark.parametrize("name", SMALL)
def test_while_an_answer_is_late_others_join_and_learn(name):
    placer = small(name, redraws=20)
    late, *asked = placer.ask(9)
    assert len(asked) == 2, "with nothing open there is one batch"
    tell(placer, *asked)
    for updates in range(4):
        assert placer.info["updates"] == updates
        asked = placer.ask(3)
        assert late.hash not in {placement.hash for placement in asked}
        tell(placer, *asked)
    tell(placer, late)
    assert placer.info["updates"] == 5


def test_no_more_join_than_there_may_be():
    placer = small("seq2seq", redraws=0)
    asked = placer.ask(1)
    asked += placer.ask(1000)
    assert len(asked) == 3 * MOST_CONTROLLERS
    assert not placer.ask(1)
    tell(placer, *asked[:3])
    assert len(placer.ask(1000)) == 3


def test_a_late_batch_is_learned_at_the_weights_it_was_drawn_from(monkeypatch):
    placer, seen = small("seq2seq"), []
    first = placer._learner.dump()
    monkeypatch.setattr(placer._learner, "learn", spied(placer._learner, seen))
    late, *asked = placer.ask(3)
    joined = placer.ask(3)
    tell(placer, *joined)
    second = placer._learner.dump()
    after = placer.ask(3)
    tell(placer, *asked, late)
    tell(placer, *after)
    assert seen == ["", first, second]


def spied(learner, seen):
    learn = learner.learn

    def learn_and_note(actions, ratios, drawn_from):
        seen.append(drawn_from)
        learn(actions, ratios, drawn_from)

    return learn_and_note


def test_epochs_after_the_first_are_at_the_present_weights():
    learners = [Reinforce(seeded(lambda: Seq2SeqPolicy(OF, CONFIG), 0), replace(CONFIG, epochs=n)) for n in (2, 1)]
    actions = learners[0].policy.draw([np.random.default_rng(k) for k in (0, 1)], 0, np.zeros(2))
    for learner in learners:
        learner.learn(actions, np.array([0.5, 2.0]), learner.dump())
    assert learners[0].dump() != learners[1].dump()
    twice = Reinforce(seeded(lambda: Seq2SeqPolicy(OF, CONFIG), 0), replace(CONFIG, epochs=2))
    twice.learn(actions, np.array([0.5, 2.0]))
    assert learners[0].dump() == twice.dump()


@pytest.mark.parametrize("name", SMALL)
def test_a_search_with_open_batches_goes_on_the_same(name):
    placer, other = (small(name, redraws=20) for _ in range(2))
    late, *asked = placer.ask(3)
    asked += placer.ask(4)
    tell(placer, *asked[:5])
    asked = [*asked[5:], *placer.ask(2)]
    other.restore(json.loads(json.dumps(placer.state())))
    for resumed in (placer, other):
        tell(resumed, *asked[::-1], late)
    assert answered(other, [5, 2, 2]) == answered(placer, [5, 2, 2])
    assert other._learner.dump() == placer._learner.dump()
