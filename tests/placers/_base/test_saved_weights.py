"""Weights of a policy gradient are saved once in a while; a search that goes on makes the updates since once more."""

from __future__ import annotations

import json

import pytest

from ovplace.placers._base import policy_gradient
from ovplace.placers._base.policy_gradient import REPEATED
from ovplace.plugins import registry
from ovplace.testing.graphs import SequentialCost, chain, problem, trial_of

OF, COST = problem(chain(("Add", "Sin") * 4), seed=1), SequentialCost.alternating(8)
PLACER = registry.load("placers", "hierarchical")


def built(samples):
    settings = {"preset": "paper", "group_hidden": 8, "hidden": 32, "attention": 4, "samples": samples}
    return PLACER.factory(OF, PLACER.config(settings))


def searched(placer, trials, fails=()):
    """Ask for so many placements one by one, and answer; return what was asked."""
    found = []
    for number in range(trials):
        (asked,) = placer.ask(1)
        latency_ms = float("inf") if number in fails else COST.latency_ms(OF.graph, asked)
        placer.tell([trial_of(number, asked, latency_ms)])
        found.append(asked.hash)
    return found


@pytest.mark.parametrize("samples", [1, 3])
def test_they_are_saved_after_so_many_updates(samples):
    placer, texts = built(samples), []
    for _ in range(2 * REPEATED + 1):
        searched(placer, samples)
        texts.append(placer.state()["weights"])
    assert len(set(texts)) == 3
    assert texts.index(texts[-1]) == 2 * REPEATED - 1


@pytest.mark.parametrize("trials", [1, REPEATED - 1, REPEATED, REPEATED + 7])
def test_a_search_that_goes_on_makes_the_updates_since_once_more(trials):
    whole, begun, resumed = (built(1) for _ in range(3))
    expected = searched(whole, trials, fails={0, 3}) + searched(whole, 30)
    asked = searched(begun, trials, fails={0, 3})
    resumed.restore(json.loads(json.dumps(begun.state())))
    assert resumed.info == begun.info
    assert asked + searched(resumed, 30) == expected


def test_weights_that_are_shorter_than_the_updates_are_saved_at_once(monkeypatch):
    monkeypatch.setattr(policy_gradient, "WORTH", 1e9)
    placer, texts = built(1), []
    for _ in range(3):
        searched(placer, 1)
        assert placer.state()["updates since"] == "[]"
        texts.append(placer.state()["weights"])
    assert len(set(texts)) == 3


def test_states_of_earlier_versions_hold_the_present_weights():
    placer, resumed = built(1), built(1)
    searched(placer, REPEATED)
    state = dict(placer.state())
    assert state.pop("updates since") == "[]"
    resumed.restore(state)
    assert searched(resumed, 5) == searched(placer, 5)
