"""Each published number of Placeto against the network and the learning that the preset `paper` builds.

Source: the published code (`nn_primitives.py`, `mp_progressive_nn.py`) and its sample of hyperparameters.
"""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from ovplace.learning.initialise import seeded
from ovplace.placers.placeto.learner import PlacetoLearner
from ovplace.placers.placeto.network import Placeto
from ovplace.placers.placeto.observation import N_LABEL_FREE
from ovplace.plugins import registry
from ovplace.testing.graphs import layered, problem

PLACETO = registry.load("placers", "placeto")
PAPER = PLACETO.config({"preset": "paper"})
DEVICES, GROUPS = 3, 4
WIDTH = 5 + DEVICES
EDGES = torch.tensor([[0, 1, 1], [1, 2, 3]])


def built(**settings):
    config = PLACETO.config({"preset": "paper", **settings})
    return seeded(lambda: Placeto(config, DEVICES), 0)


def sizes(module: nn.Module) -> list[tuple[int, int]]:
    return [(part.in_features, part.out_features) for part in module.modules() if isinstance(part, nn.Linear)]


def kinds(module: nn.Module) -> list[str]:
    return [type(part).__name__ for part in module.modules() if not list(part.children())]


def test_every_embedding_is_as_wide_as_the_features():
    net = built()
    assert WIDTH == N_LABEL_FREE + DEVICES
    assert sizes(net.embed) == [(WIDTH, WIDTH)] * 3
    assert sizes(net.along) == sizes(net.against) == [(WIDTH, WIDTH)] * 4
    assert [sizes(pool) for pool in net.pools] == [[(2 * WIDTH, 2 * WIDTH)] * 4] * 3


def test_both_networks_of_an_aggregator_end_in_a_relu():
    net = built()
    for network in (net.along.f, net.against.g, net.pools[0].before, net.pools[2].after):
        assert kinds(network) == ["Linear", "ReLU"] * 2
    assert kinds(net.embed)[-1] == "Linear"


def test_the_classifier_has_twice_and_once_its_input():
    joined = 4 * 2 * WIDTH
    assert sizes(built().head) == [(joined, 2 * joined), (2 * joined, joined), (joined, DEVICES)]


def test_there_are_8_rounds_of_sums_that_leave_out_empty_ones():
    net, h0 = built(), torch.rand(GROUPS, 1, WIDTH)
    expected = h0
    for _ in range(8):
        heard = torch.zeros_like(h0)
        for source, target in EDGES.T.tolist():
            heard[target] += net.along.f(expected[source])
        expected = torch.where(torch.tensor([0, 1, 1, 1])[:, None, None] > 0, net.along.g(heard), 0.0) + h0
    torch.testing.assert_close(net.along(h0, EDGES[0], EDGES[1]), expected)
    assert torch.equal(net.along(h0, EDGES[0], EDGES[1])[0], h0[0])


def test_pooling_is_a_sum():
    net, h = built(), torch.rand(1, GROUPS, 1, 2 * WIDTH)
    pool, members = net.pools[0], torch.tensor([[[1.0, 1.0, 0.0, 1.0]]])
    expected = pool.after(pool.before(h[0, [0, 1, 3]]).sum(dim=0))
    torch.testing.assert_close(pool(h, members)[0, 0], expected)


@pytest.mark.parametrize(
    ("settings", "pools", "width"),
    [
        ({"rounds": 0}, 3, 2 * WIDTH),
        ({"messages": False}, 3, WIDTH),
        ({"partition": "one"}, 1, 2 * WIDTH),
        ({"partition": "one", "messages": False}, 1, WIDTH),
    ],
)
def test_ablations_of_the_paper_choose_devices_with_smaller_networks(settings, pools, width):
    net = built(**settings)
    assert [sizes(pool)[0][0] for pool in net.pools] == [width] * pools
    x, sets = torch.rand(1, 2, 1, GROUPS, WIDTH), torch.rand(pools, 1, 1, GROUPS)
    context = net.context(x, EDGES, torch.tensor([[1]]), sets)
    log_p = net.log_p(context, torch.zeros(2, DEVICES, 0), torch.ones(DEVICES, dtype=torch.bool))
    torch.testing.assert_close(log_p.exp().sum(dim=-1), torch.ones(1, 1, 2))


def test_learning_has_the_sample_hyperparameters():
    assert [PAPER.learning_rate_at(update) for update in (0, 500)] == pytest.approx([1e-3, 1e-4])
    history = [[float(i)] for i in range(12)]
    PAPER.advantages(np.array([[1.0], [1.0]]), np.array([0, 1]), history)
    assert len(history) == 10
    assert PAPER.episodes == 8


def test_longer_gradients_are_scaled_to_norm_1_25():
    net = built()
    learner = PlacetoLearner(net, PAPER)
    gradients = [torch.ones_like(parameter) for parameter in net.parameters()]
    for parameter, gradient in zip(net.parameters(), gradients, strict=True):
        parameter.grad = gradient
    learner.step(0)
    assert float(torch.cat([gradient.flatten() for gradient in gradients]).norm()) == pytest.approx(1.25, rel=1e-3)


def played():
    """Return the placer that is built, and its first episodes."""
    placer = PLACETO.factory(problem(layered(9, seed=8), n_devices=DEVICES), PAPER)
    episodes, _ = placer._played(placer._started())
    return placer, episodes


def test_8_episodes_from_one_placement_visit_each_group_once_and_are_encoded_and_rewarded_at_each_step():
    placer, episodes = played()
    assert episodes.groups.tolist() == placer._problem.group_order.tolist()
    assert episodes.actions.shape == (9, 8)
    assert (len(episodes.encoded), episodes.marks.tolist()) == (9, list(range(10)))
    assert len(np.unique(episodes.visited[0], axis=0)) == 1


def test_the_gradient_is_the_sum_over_steps_and_episodes_with_an_entropy_of_weight_1():
    placer, episodes = played()
    learner, graph = placer._learner, placer._environment.graph
    weight = np.arange(72.0).reshape(9, 8) - 30.0
    learner.reinforce(graph, episodes, weight, 0)
    found = [parameter.grad.clone() for parameter in learner.network.parameters()]
    ((log_p, _),) = learner._replayed(graph, episodes)
    chosen = log_p.gather(2, torch.from_numpy(episodes.actions)[..., None])[..., 0]
    loss = -(torch.from_numpy(weight).float() * chosen).sum() + (log_p.exp() * log_p).sum()
    expected = torch.autograd.grad(loss, list(learner.network.parameters()))
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-3)
