"""The two placers whose policy forms the groups itself: what both learn."""

from __future__ import annotations

import numpy as np
import pytest

from ovplace.plugins import registry
from ovplace.testing.graphs import SequentialCost, chain, problem, trial_of

LEARNED_ALONE = {"uniform": False, "redraws": 0, "groups": 4, "sharpness": 3.0}


@pytest.mark.parametrize("name", ["fc_grouper", "hierarchical"])
@pytest.mark.parametrize("better", [True, False], ids=["latency", "its inverse"])
def test_the_policy_itself_moves_towards_what_takes_less(name, better):
    of, cost = problem(chain(("Add", "Sin") * 4), seed=1), SequentialCost.alternating(8)
    plugin, found = registry.load("placers", name), []
    placer = plugin.factory(of, plugin.config(LEARNED_ALONE))
    for number in range(250):
        (asked,) = placer.ask(1)
        found.append(cost.latency_ms(of.graph, asked))
        placer.tell([trial_of(number, asked, found[-1] / 16 if better else 16 / found[-1])])
    early, late = np.mean(found[:50]), np.mean(found[-50:])
    assert late < early - 2.0 if better else late > early + 2.0
