"""Several controllers: batches measured at the same time, each learned from at the weights it was drawn from."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import torch

from ovplace.errors import ConfigError
from ovplace.learning.initialise import seeded
from ovplace.learning.reinforce import Reinforce
from ovplace.placers.seq2seq.policy import Seq2SeqPolicy
from ovplace.plugins import registry
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


def test_controllers_send_one_gradient_a_batch():
    with pytest.raises(ConfigError, match="epochs must be 1, got 4"):
        SEQ2SEQ.config({"controllers": 2})
