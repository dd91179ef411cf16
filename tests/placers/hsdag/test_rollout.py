"""The log probability of a step is that of drawing it."""

from __future__ import annotations

from math import exp

import numpy as np
import pytest

from ovplace.learning.initialise import seeded
from ovplace.placers.hsdag.network.policy import HsdagPolicy
from ovplace.placers.hsdag.network.policy_graph import PolicyGraph
from ovplace.placers.hsdag.network.settings import NetworkSettings
from ovplace.placers.hsdag.rollout import Rollout, RolloutSettings
from ovplace.seeds import generator
from ovplace.testing.graphs import chain


def drawn(settings, draws, n_devices=1):
    """Return steps of a chain of three operations, each with its encoding."""
    rng, of = generator(0, "testing", "rollout"), chain(("Add",) * 3)
    graph = PolicyGraph(rng.random((3, 5)), of.edges, np.ones((3, n_devices), dtype=bool), np.arange(3))
    policy = seeded(lambda: HsdagPolicy(5, n_devices, NetworkSettings(hidden=8)), 0)
    rollout = Rollout(graph, settings)
    for _ in range(draws):
        rollout.draw(policy, rng)
    return [(step, rollout.encodings[step.encoding]) for step in rollout.steps]


@pytest.mark.parametrize(
    ("settings", "n_devices"),
    [
        (RolloutSettings("drawn", 0, False), 1),
        (RolloutSettings("drawn", 1, False), 1),
        (RolloutSettings("parsed", 0, False), 2),
        (RolloutSettings("fixed", 0, False), 2),
    ],
)
def test_the_probabilities_of_all_steps_sum_to_one(settings, n_devices):
    p = {}
    for step, encoding in drawn(settings, 200, n_devices):
        groups = tuple(tuple(level.chosen.tolist()) for level in encoding.levels)
        p[groups, tuple(step.devices.tolist())] = exp(step.log_p)
    assert len(p) > 1
    assert 0.9 <= sum(p.values()) <= 1 + 1e-4


def test_a_parse_that_has_nothing_left_to_merge_does_not_draw_whether_it_stops():
    for _, encoding in drawn(RolloutSettings("drawn", 0, False), 100):
        last = encoding.levels[-1]
        whole = last.n_groups in (1, len(last.labels))  # all merged, or nothing was
        assert encoding.stops_drawn == len(encoding.levels) - whole


def test_no_stop_is_drawn_where_the_number_of_levels_is_given():
    assert all(encoding.stops_drawn == 0 for _, encoding in drawn(RolloutSettings("parsed", 2, True), 5))
