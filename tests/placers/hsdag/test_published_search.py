"""What the preset `paper` draws and learns between two updates, against the placer that it builds.

`test_published_network.py` has the lines of Table 6.
"""

from __future__ import annotations

import numpy as np
import torch

from ovplace.core.partition import Partition
from ovplace.placers.hsdag.learner import UpdateSettings
from ovplace.testing.graphs import chain, problem, trial_of
from tests.placers.hsdag.test_published_network import played, small


def test_the_state_of_a_step_is_the_sum_of_the_embeddings_of_nodes_and_their_groups_in_the_step_before():
    placer = small(preset="paper")
    placer.ask(3)
    policy, graph = placer._learner.policy, placer._graph
    state, encodings = None, placer._episodes[0].rollout.encodings
    assert len(encodings) == 3
    for encoding in encodings:
        assert (encoding.state is None) == (state is None)
        if state is not None:
            torch.testing.assert_close(encoding.state, state)
        with torch.no_grad():
            h = policy.norm(policy.embed(graph.rows) + (0 if state is None else state))
            z = policy.encoder(h, graph.adjacency)
            parsed = policy(graph, [state], encoding.levels, lambda *_: False).parsed
        state = z + parsed.z[torch.from_numpy(parsed.group_of)]


def test_operations_are_parsed_once_whatever_the_groups_and_described_without_costs():
    of = problem(chain(("Add", "Sin") * 8), partition=Partition.from_labels(np.arange(16) // 2))
    assert of.costs is not None
    placer = small(of, preset="paper")
    placer.ask(1)
    (encoding,) = placer._episodes[0].rollout.encodings
    assert [len(level.labels) for level in encoding.levels] == [16]
    assert placer._graph.features.tolist() == np.eye(16).tolist()


def test_each_step_is_the_first_draw_and_nothing_is_measured_before_it():
    placer = small(problem(chain(("Add", "Sin"))), preset="paper")  # four placements, so that most steps repeat one
    for number in range(19):
        placer.tell([trial_of(number, placer.ask(1)[0], 1.0)])
    assert [redraws for _, redraws in placer._controllers.batches[0].drawn] == [0] * 19


def test_the_update_is_reinforce_without_clipping_entropy_or_limit_of_the_gradient(monkeypatch):
    placer, seen = small(preset="paper", episodes=1), []
    monkeypatch.setattr(placer._learner, "learn", lambda *args: seen.append(args[2]))
    played(placer)
    assert seen == [UpdateSettings(epochs=4, clip=0.0, entropy=0.0, max_grad_norm=0.0)]


def test_dropout_is_active_in_the_update_and_not_while_drawing():
    with_it, without = small(preset="paper", steps=3), small(preset="paper", steps=3, dropout=0.0)
    asked = with_it.ask(3)
    assert [placement.hash for placement in without.ask(3)] == [placement.hash for placement in asked]
    for placer in (with_it, without):
        placer.tell([trial_of(number, placement, 1.0 + number) for number, placement in enumerate(asked)])
        assert placer.info["updates"] == 1
    weights = [placer._learner.policy.state_dict()["classify.0.weight"] for placer in (with_it, without)]
    assert not torch.equal(*weights)
