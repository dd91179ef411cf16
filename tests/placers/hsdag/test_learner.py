"""What a policy learns from steps that it would hardly have drawn."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from ovplace.learning.initialise import seeded
from ovplace.placers.hsdag.learner import HsdagLearner, UpdateSettings
from ovplace.placers.hsdag.network.policy import HsdagPolicy
from ovplace.placers.hsdag.network.policy_graph import PolicyGraph
from ovplace.placers.hsdag.network.settings import NetworkSettings
from ovplace.placers.hsdag.rollout import Rollout, RolloutSettings
from ovplace.seeds import generator
from ovplace.testing.graphs import layered


@pytest.mark.parametrize("weight", [-1.0, 1.0])
def test_a_step_that_became_likely_leaves_the_weights_finite(weight):
    graph_of = layered(12, seed=1)
    rng = generator(0, "testing", "learner")
    edges = np.unique(graph_of.edges, axis=1)
    n = len(graph_of)
    graph = PolicyGraph(rng.random((n, 5)), edges, np.ones((n, 2), dtype=bool), np.arange(n))
    policy = seeded(lambda: HsdagPolicy(5, 2, NetworkSettings(hidden=16)), 0)
    buffer = Rollout(graph, RolloutSettings("parsed", 1, False))
    buffer.draw(policy, rng)
    buffer.steps[0] = replace(buffer.steps[0], log_p=-500.0)
    learner = HsdagLearner(policy, 1e-3)
    learner.learn(buffer, np.array([weight]), UpdateSettings(2, 0.2, 0.0, 1.0), 0)
    assert all(torch.isfinite(p).all() for p in policy.parameters())
