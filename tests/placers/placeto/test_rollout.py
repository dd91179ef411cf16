"""Placeto's decision process: features, rewards, baselines, and the direction in which it learns."""

from __future__ import annotations

from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
import torch

from ovplace.core.partition import Partition
from ovplace.cost.evaluate.latency import latency_ms
from ovplace.learning.initialise import seeded
from ovplace.learning.objectives import entropy_terms
from ovplace.placers.placeto import learner as learning
from ovplace.placers.placeto import rollout as module
from ovplace.placers.placeto.learner import PlacetoLearner
from ovplace.placers.placeto.network import Placeto, PlacetoSettings
from ovplace.placers.placeto.observation import PlacetoGraph, label_free, pair_features, view_features
from ovplace.placers.placeto.returns import LearningSettings, episode_rewards, returns, step_baseline
from ovplace.placers.placeto.rollout import EpisodeSettings, run_episodes
from ovplace.seeds import generator
from ovplace.testing.graphs import chain, diamond, layered, problem

SMALL = PlacetoSettings(hidden=8, rounds=3)
SETTINGS = LearningSettings(learning_rate=1e-2, learning_rate_end=1e-3, entropy=0.0, entropy_end=0.0, anneal=10)


def seen(of):
    return PlacetoGraph.of(of, of.costs)


def network(n_devices, head="devices", seed=0):
    return seeded(lambda: Placeto(replace(SMALL, head=head), n_devices), seed)


def rng(*path):
    return generator(0, "testing", "episodes", *path)


def circle():
    return problem(layered(12, seed=3), partition=Partition(np.arange(12) % 5))


@pytest.mark.parametrize("of", [problem(layered(30, seed=1)), problem(diamond()), problem(chain(("Add",))), circle()])
def test_ancestors_descendants_and_parallel_groups_are_those_of_networkx(of):
    found = seen(of).sets
    graph = nx.DiGraph()
    graph.add_nodes_from(range(of.n_groups))
    graph.add_edges_from(of.quotient.edges.T.tolist())
    for group in range(of.n_groups):
        ancestors, descendants = nx.ancestors(graph, group), nx.descendants(graph, group)
        parallel = set(range(of.n_groups)) - ancestors - descendants - {group}
        for row, members in zip(found[:, group], (ancestors, descendants, parallel), strict=True):
            assert set(np.flatnonzero(row).tolist()) == members
            assert row.sum() == pytest.approx(1.0 if members else 0.0)


def test_published_features_by_hand():
    of = problem(chain(("Add", "Sin", "Relu")), n_devices=2)
    table = replace(of.costs, group_ms=np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]))
    graph = PlacetoGraph.of(of, table)
    found = label_free(graph, np.array([[0, 1, 1]]), np.array([1, 0, 0]), current=1)[0, 0]
    expected = [
        [1 / 6, 1, 1, 0, -1 / 4, 1, 0],  # started 1 ms before the current one, 5 ms is the largest gap, 4 after it
        [4 / 6, 1, 0, 1, 0, 0, 1],
        [6 / 6, 0, 0, 0, 1, 0, 1],
    ]
    np.testing.assert_allclose(found, expected)


def test_features_do_not_depend_on_the_unit_of_time():
    of = problem(layered(15, seed=2), n_devices=3)
    slow = replace(
        of.costs,
        **{
            name: 1000 * getattr(of.costs, name)
            for name in ("group_ms", "saving_ms", "latency_ms", "ms_per_byte", "submodel_ms")
        },
    )
    device_of, visits = rng("unit").integers(3, size=(2, 15)), np.arange(15) % 2
    one, other = (PlacetoGraph.of(of, table) for table in (of.costs, slow))
    np.testing.assert_allclose(view_features(one, device_of, visits, 3), view_features(other, device_of, visits, 3))


def test_features_stay_finite_and_small():
    supported = np.ones((20, 3), dtype=bool)
    supported[::3, 0] = supported[1::4, 2] = False
    for of in (problem(layered(20, seed=4), 3, supported=supported), problem(chain(("Add",)), 1)):
        for costs in (of.costs, replace(of.costs, group_ms=np.where(np.isfinite(of.costs.group_ms), 0.0, np.inf))):
            graph = PlacetoGraph.of(of, costs)
            device_of = graph.repaired(np.zeros((1, len(graph)), dtype=np.int64))
            found = view_features(graph, device_of, np.zeros(len(graph), dtype=np.int64), 0)
            assert np.isfinite(found).all()
            assert np.abs(found).max() <= 5.0


def test_pairs_of_one_group_are_those_among_all():
    graph = seen(problem(layered(15, seed=2), n_devices=3))
    device_of = rng("pairs").integers(3, size=(4, 15))
    every = pair_features(graph, device_of, np.arange(15), graph.moves.all_ms(device_of))
    alone = pair_features(graph, device_of, np.array([7]), graph.moves.group_ms(device_of, 7)[:, None])
    np.testing.assert_allclose(alone[:, :, 0], every[:, :, 7], atol=1e-6)


@pytest.mark.parametrize(
    "settings",
    [EpisodeSettings(), EpisodeSettings(2, 0, 0), EpisodeSettings(3, 2, 5, coherent=False), EpisodeSettings(1, 100, 1)],
)
@pytest.mark.parametrize("final", [False, True])
def test_rewards_add_up_to_what_the_episode_gained(settings, final):
    of = problem(layered(13, seed=5), n_devices=3)
    found = run_episodes(network(3), seen(of), np.zeros((4, 13), dtype=np.int64), settings, rng("telescope"))
    ms = latency_ms(of.costs, found.visited.reshape(-1, 13)).reshape(-1, 4)
    reward = episode_rewards(ms, found.marks, final)
    assert reward.shape == found.actions.shape == (13 * settings.sweeps, 4)
    np.testing.assert_allclose(reward.sum(axis=0), ms[0] - ms[-1])
    np.testing.assert_allclose(returns(reward, 1.0)[0], ms[0] - ms[-1])


@pytest.mark.parametrize("settings", [EpisodeSettings(2, 0, 0), EpisodeSettings(2, 3, 4)])
def test_what_was_visited_follows_from_the_actions(settings):
    graph = seen(problem(layered(13, seed=5), n_devices=3))
    found = run_episodes(network(3), graph, np.zeros((4, 13), dtype=np.int64), settings, rng("visited"))
    device_of = np.zeros((4, 13), dtype=np.int64)
    for step, (group, action) in enumerate(zip(found.groups, found.actions, strict=True)):
        np.testing.assert_array_equal(
            found.visited[found.marks == step], device_of[None][: (found.marks == step).sum()]
        )
        device_of[:, group] = action
    np.testing.assert_array_equal(found.visited[-1], device_of)
    assert (found.groups.reshape(2, -1) == graph.order).all()


def test_returns_and_baselines_by_hand():
    reward = np.array([[1.0, 0.0], [0.0, 2.0], [4.0, 0.0]])
    np.testing.assert_allclose(returns(reward, 0.5), [[2.0, 1.0], [2.0, 2.0], [4.0, 0.0]])
    history: list[list[float]] = []
    assert step_baseline(history, np.array([[1.0, 3.0], [0.0, 2.0]]), 2).tolist() == [2.0, 1.0]
    assert step_baseline(history, np.array([[4.0, 4.0], [1.0, 5.0]]), 2).tolist() == [3.0, 2.0]
    assert step_baseline(history, np.array([[0.0, 0.0], [0.0, 0.0]]), 2).tolist() == [
        2.0,
        1.5,
    ]  # the first has dropped out


def test_draws_follow_the_policy_whether_coherent_or_not():
    p = np.array([[0.7, 0.3]])
    for longest in (1, 50):
        draws = module._draws(20000, 4, longest, rng("draws", longest))
        first = [module._drawn(p, np.ones(2, dtype=bool), draw[None], 0.0)[0] == 0 for draw in draws[:, 0]]
        assert np.mean(first) == pytest.approx(0.7, abs=0.02)
        kept = (draws[1:] == draws[:-1]).mean(axis=0)
        expected = 1 - 1 / np.geomspace(1, longest, 4)
        np.testing.assert_allclose(kept, expected, atol=0.02)


def test_devices_that_cannot_run_a_group_are_never_drawn():
    supported = rng("supported").random((15, 4)) < 0.5
    supported[:, 1] = True
    of = problem(layered(15, seed=6), 4, supported=supported)
    graph = seen(of)
    for head in ("classes", "devices"):
        start = graph.repaired(np.zeros((8, 15), dtype=np.int64))
        found = run_episodes(network(4, head), graph, start, EpisodeSettings(2), rng("masked"), exploration_rate=0.9)
        assert graph.allowed[np.arange(15), found.visited].all()


def log_p(policy, graph, found):
    with torch.no_grad():
        parts = [part for part, _ in PlacetoLearner(policy, SETTINGS)._replayed(graph, found)]
    return torch.cat(parts)


@pytest.mark.parametrize("head", ["classes", "devices"])
@pytest.mark.parametrize("settings", [EpisodeSettings(2, 0), EpisodeSettings(1, 4), EpisodeSettings(2, 1)])
@pytest.mark.parametrize("rows", [1, 8192])
def test_the_learner_sees_what_the_player_saw(monkeypatch, head, settings, rows):
    """Greedy actions are the most probable ones again, however the steps are batched."""
    monkeypatch.setattr(learning, "BATCH_ROWS", rows)
    graph, policy = seen(problem(layered(13, seed=7), n_devices=3)), network(3, head)
    start = rng("start").integers(3, size=(5, 13))
    found = run_episodes(policy, graph, start, settings)
    again = log_p(policy, graph, found)
    np.testing.assert_array_equal(again.argmax(dim=2).numpy(), found.actions)
    np.testing.assert_allclose(again.exp().sum(dim=2), 1.0, rtol=1e-5)


@pytest.mark.parametrize("head", ["classes", "devices"])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_what_went_well_becomes_more_likely_and_the_opposite_less(head, sign):
    graph, policy = seen(problem(layered(9, seed=8), n_devices=3)), network(3, head)
    found = run_episodes(policy, graph, np.zeros((2, 9), dtype=np.int64), EpisodeSettings(), rng("sign"))
    action = torch.from_numpy(found.actions)[..., None]
    before = log_p(policy, graph, found).gather(2, action).sum()
    learner = PlacetoLearner(policy, replace(SETTINGS, learning_rate=1e-3))
    learner.reinforce(graph, found, np.full(found.actions.shape, sign), 0)
    learner.step(0)
    assert sign * (log_p(policy, graph, found).gather(2, action).sum() - before) > 0


def test_entropy_keeps_the_choice_open():
    graph, policy = seen(problem(layered(9, seed=8), n_devices=3)), network(3)
    found = run_episodes(policy, graph, np.zeros((2, 9), dtype=np.int64), EpisodeSettings(), rng("entropy"))
    before = entropy_terms(log_p(policy, graph, found)).sum()
    learner = PlacetoLearner(policy, replace(SETTINGS, entropy=1.0, learning_rate=1e-3))
    learner.reinforce(graph, found, np.zeros(found.actions.shape), 0)
    learner.step(0)
    assert entropy_terms(log_p(policy, graph, found)).sum() > before


def test_imitation_makes_the_imitated_likely_however_the_gradient_is_added_up(monkeypatch):
    graph = seen(problem(layered(9, seed=8), n_devices=3))
    target, gradients = graph.work_ms.argmin(axis=1), []
    for rows in (1, 8192):
        monkeypatch.setattr(learning, "BATCH_ROWS", rows)
        policy = network(3)
        learner = PlacetoLearner(policy, SETTINGS)
        found = run_episodes(policy, graph, np.zeros((3, 9), dtype=np.int64), EpisodeSettings(), rng("imitate"))
        learner.imitate(graph, found, target)
        gradients.append(torch.cat([p.grad.reshape(-1) for p in policy.parameters()]))
    np.testing.assert_allclose(*gradients, atol=1e-6)
    for update in range(60):
        learner.step(update)
        learner.imitate(graph, found, target)
    assert (log_p(policy, graph, found).argmax(dim=2).numpy() == target[found.groups][:, None]).mean() > 0.9


def test_rates_go_from_one_end_to_the_other():
    settings = LearningSettings(entropy=1.0, entropy_end=0.0, anneal=10)
    assert [settings.entropy_at(update) for update in (0, 5, 10, 20)] == [1.0, 0.5, 0.0, 0.0]


def test_advantages_by_hand():
    worth, marks = np.array([[4.0, 4.0], [4.0, 2.0], [1.0, 2.0]]), np.array([0, 1, 2])
    plain = LearningSettings(reward="difference", normalise=False)
    np.testing.assert_allclose(plain.advantages(worth, marks, []), [[0.5, -0.5], [1.5, -1.5]])
    np.testing.assert_allclose(plain.advantages(worth, marks, [[0.5, 0.5]]), [[1.5, 0.5], [2.0, -1.0]])
    log2 = np.log(2)
    found = LearningSettings(normalise=False).advantages(worth, marks, [])
    np.testing.assert_allclose(found, [[0.5 * log2, -0.5 * log2], [log2, -log2]])
    assert LearningSettings().advantages(worth, marks, []).std() == pytest.approx(1.0, rel=1e-3)


def test_a_summed_gradient_is_as_many_times_longer_as_there_are_steps():
    graph, gradients = seen(problem(layered(9, seed=8), n_devices=3)), []
    for summed in (False, True):
        policy = network(3)
        found = run_episodes(policy, graph, np.zeros((2, 9), dtype=np.int64), EpisodeSettings(), rng("summed"))
        PlacetoLearner(policy, replace(SETTINGS, summed=summed)).reinforce(graph, found, np.ones((9, 2)), 0)
        gradients.append(policy.embed[0].weight.grad)
    torch.testing.assert_close(gradients[1], 9 * gradients[0])


def test_each_sweep_visits_the_groups_in_the_order_that_the_graph_says():
    graph = replace(seen(problem(layered(9, seed=8), n_devices=3)), visits=np.arange(9)[::-1].copy())
    found = run_episodes(network(3), graph, np.zeros((2, 9), dtype=np.int64), EpisodeSettings(sweeps=2), rng("order"))
    assert found.groups.tolist() == [*range(8, -1, -1)] * 2
