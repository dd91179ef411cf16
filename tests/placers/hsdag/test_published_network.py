"""Each line of HSDAG's Table 6 against the network and the learning that the preset `paper` builds.

Where the table is silent, the published code is the reference: `forward` below is its forward pass, written anew.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from ovplace.core.device import Device
from ovplace.learning.initialise import seeded
from ovplace.learning.tensors_text import tensors_from_text
from ovplace.placers.hsdag.network.adjacency import Adjacency
from ovplace.placers.hsdag.network.dropout import Dropout
from ovplace.placers.hsdag.network.levels import parsed_level
from ovplace.placers.hsdag.network.policy import HsdagPolicy
from ovplace.placers.hsdag.network.policy_graph import PolicyGraph
from ovplace.plugins import registry
from ovplace.seeds import generator
from ovplace.testing.graphs import chain, layered, problem, trial_of

HSDAG = registry.load("placers", "hsdag")
PAPER = HSDAG.config({"preset": "paper"})
FEATURES, NODES = 7, 30


@pytest.fixture(name="net")
def network():
    return seeded(lambda: HsdagPolicy(FEATURES, 2, PAPER), 0)


@pytest.fixture(name="of")
def policy_graph():
    graph = layered(NODES, seed=3)
    rows = generator(0, "testing", "features").random((NODES, FEATURES))
    return PolicyGraph(rows, np.unique(graph.edges, axis=1), np.ones((NODES, 2), dtype=bool), np.arange(NODES))


def kinds(module: nn.Module) -> list[str]:
    return [type(part).__name__ for part in module.modules() if not list(part.children())]


def test_num_devices_is_that_of_the_machine(net, of):
    assert output(net, of).log_p.shape[1] == 2


def test_hidden_channel_is_128(net, of):
    assert output(net, of).z.shape == (NODES, 128)
    assert output(net, of).parsed.z.shape[1] == 128


def test_layer_trans_is_2_before_the_encoder_and_after_the_pooling(net):
    assert kinds(net.embed) == ["Linear", "LayerNorm", "ReLU", "Dropout"] * 2
    assert kinds(net.output) == ["Linear", "ReLU", "Dropout"] * 2


def test_layer_gnn_is_2_for_the_scores_and_1_for_the_pooling(net):
    assert (len(net.encoder.layers), len(net.grouper.mixer.layers)) == (2, 1)


def test_layer_parsingnet_is_2(net):
    assert kinds(net.grouper.scorer.score) == ["Linear", "LayerNorm", "ReLU", "Dropout", "Linear"]


def test_the_classifier_has_two_layers(net):
    assert kinds(net.classify) == ["Linear", "ReLU", "Linear"]


def test_dropout_network_is_a_fifth_wherever_the_code_has_it(net):
    masks = [part for part in net.modules() if isinstance(part, Dropout)]
    net.train()
    shares = [float((part(torch.ones(100_000)) == 0).float().mean()) for part in masks]
    assert sorted(round(share, 2) for share in shares) == [0.0, *[0.2] * 7]  # the first is dropout_parsing


def test_dropout_parsing_is_0(net):
    product = torch.rand(50, 128)
    assert torch.equal(net.grouper.scorer.dropout.train()(product), product)


def test_link_ignore_self_loop_leaves_loops_unscored():
    assert Adjacency(np.array([[0, 1, 1], [0, 1, 0]]), 2).pairs.tolist() == [[0], [1]]


def test_activation_final_leaves_nothing_negative(net, of):
    with torch.no_grad():
        embedded, groups = net.embedded(of), output(net, of).parsed.z
    assert float(embedded.min()) == 0.0 == float(groups.min())


@pytest.mark.parametrize("levels", [1, 2, 20])
def test_the_network_computes_what_the_published_code_computes(net, of, levels):
    """GCN, pooling over all edges inside, GNN2 on the input of GNN1, groups encoded before they are parsed again."""
    with torch.no_grad():
        out = net(of, [None], parsed_level, lambda done, _: done < levels)
        expected = forward(net, of, len(out.parsed.levels))
    assert len(out.parsed.levels) == levels or out.parsed.levels[-1].n_groups == 1
    torch.testing.assert_close(out.log_p, expected, rtol=1e-4, atol=1e-5)


def forward(net, of, levels):
    """Return the log probabilities of devices for each group."""
    h = net.norm(net.embed(of.rows))  # the code has no norm here; documented
    edges = np.concatenate([of.edges, of.edges[::-1]], axis=1)
    for _ in range(levels):
        adjacency = torch.zeros(len(h), len(h))
        adjacency[edges[0], edges[1]] = 1.0
        z = convolved(net.encoder, h, adjacency)
        source, target = np.nonzero(adjacency.numpy())  # each edge in both directions
        scores = torch.sigmoid(net.grouper.scorer.score(z[source] * z[target])).squeeze(1)
        label = groups_of(len(h), source, target, scores)
        member = nn.functional.one_hot(torch.from_numpy(label)).float()
        own = convolved(net.grouper.mixer, h, adjacency)
        pooling = net.grouper.pooling
        total = member.T @ pooling.norms[0](own + pooling.before(own))
        h = pooling.norms[1](total + pooling.after(total))
        inside = label[source] == label[target]
        sums = torch.zeros(len(h)).index_add(0, torch.from_numpy(label[source][inside]), scores[inside])
        h = h * torch.where(sums == 0, 1.0, sums)[:, None]
        edges = np.unique(np.stack([label[source], label[target]])[:, ~inside], axis=1)
    return torch.log_softmax(net.classify(net.output(h)), dim=1)


def convolved(block, h, adjacency):
    """ReLU(D^(-1/2) (A + I) D^(-1/2) H W + b) for each layer, a residual connection, and a layer norm."""
    hat = adjacency + torch.eye(len(h))
    scale = hat.sum(dim=1) ** -0.5
    out = h
    for layer in block.layers:
        out = torch.relu(scale[:, None] * hat * scale @ out @ layer.conv.lin.weight.T + layer.conv.bias)
    return block.norm(h + out)


def groups_of(n, source, target, scores):
    """Follow each node's best edge; nodes that meet form a group, numbered by their first nodes."""
    label = np.arange(n)
    for node in range(n):
        own = np.flatnonzero(source == node)
        if len(own):
            best = target[own[int(scores[own].argmax())]]
            label[label == label[node]] = label[best]
    first = {}
    return np.array([first.setdefault(group, len(first)) for group in label])


def output(net, of):
    with torch.no_grad():
        return net(of, [None], parsed_level, lambda *_: False)


# Learning


def small(of=None, **settings):
    of = of or problem(chain(("Add", "Sin") * 4))
    of = replace(of, features=np.eye(len(of.graph)))
    return HSDAG.factory(of, HSDAG.config({"hidden": 16, **settings}))


def played(placer, ratio=lambda number: 1.0 + number % 3):
    """Answer all that a placer asks; return how many placements that were."""
    number = 0
    while asked := placer.ask(20):
        placer.tell([trial_of(number + i, placement, ratio(number + i)) for i, placement in enumerate(asked)])
        number += len(asked)
    return number


def learned(placer, kind):
    """Return what a placer's state says of its weights, or of Adam's moments."""
    tensors, _ = tensors_from_text(placer.state()["weights"])
    return {name: value for name, value in tensors.items() if name.startswith(kind)}


def updates(placer):
    """Return how often Adam has changed each weight."""
    return {int(value) for name, value in learned(placer, "moment").items() if name.endswith(" step")}


def test_learning_rate_is_a_ten_thousandth():
    """The first step of Adam moves a weight by the learning rate, whatever its gradient."""
    placer = small(preset="paper", episodes=1, epochs=1)
    before = learned(placer, "weight")
    played(placer)
    after = learned(placer, "weight")
    moved = max(float((after[name] - before[name]).abs().max()) for name in before)
    assert moved == pytest.approx(1e-4, rel=1e-2)


def test_k_epochs_is_4_and_update_timestep_is_20():
    placer = small(preset="paper", episodes=3)
    assert played(placer) == 3 * 20
    assert updates(placer) == {3 * 4}


@pytest.mark.slow
def test_max_episodes_is_100_repeated_placements_included():
    placer = small(preset="paper", learning_rate=0.0)
    assert played(placer) == 100 * 20
    assert placer.info["updates"] == 100


def test_without_a_learning_rate_nothing_is_learned():
    placer = small(preset="paper", learning_rate=0.0, episodes=2)
    before = placer.state()["weights"]
    played(placer)
    assert placer.state()["weights"] == before


# The variants of the published code


@pytest.mark.parametrize("preset", ["paper-log", "paper-code"])
def test_variants_have_the_network_of_the_paper(preset, net):
    other = seeded(lambda: HsdagPolicy(FEATURES, 2, HSDAG.config({"preset": preset})), 0)
    assert str(other) == str(net)


def test_paper_code_learns_once_from_one_return_for_all_steps(monkeypatch):
    placer, seen = small(preset="paper-code", steps=3, episodes=2), []
    learn = placer._learner.learn

    def watched(*args):
        seen.extend(args[1])
        learn(*args)

    monkeypatch.setattr(placer._learner, "learn", watched)
    played(placer, lambda number: [1.0, 2.0, 4.0][number % 3])
    expected = 1 / 4 + 0.95 / 2 + 0.95**2
    np.testing.assert_allclose(seen, [expected] * 6)
    assert updates(placer) == {2}


def test_paper_log_compares_with_the_cpu_which_is_measured_first(monkeypatch):
    of = problem(chain(("Add", "Sin") * 4))
    of = replace(of, devices=(Device("GPU", "GPU", {}), Device("CPU", "CPU", {})))
    placer, seen = small(of, preset="paper-log", steps=2, episodes=1), []
    monkeypatch.setattr(placer._learner, "learn", lambda *args: seen.extend(args[1]))
    first = placer.ask(1)
    assert first[0].used == ("CPU",)
    placer.tell([trial_of(0, first[0], 3.0)])
    played(placer, lambda number: [1.0, 6.0][number % 2])
    np.testing.assert_allclose(seen, [0.95 * np.log(3), -(0.95**2) * np.log(2)])
