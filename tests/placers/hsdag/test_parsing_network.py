"""Gradients, ties and copies of the parsing network."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import torch

from ovplace.graphs.op_graph import OpGraph
from ovplace.learning.initialise import seeded
from ovplace.placers.hsdag.network.encoder import CONVOLUTIONS
from ovplace.placers.hsdag.network.levels import drawn_level, fixed_level, joined_levels, parsed_level, tied_level
from ovplace.placers.hsdag.network.parsing_network import ParsingNetwork
from ovplace.placers.hsdag.network.policy import HsdagPolicy, group_allowed
from ovplace.placers.hsdag.network.policy_graph import PolicyGraph
from ovplace.placers.hsdag.network.settings import NetworkSettings
from ovplace.seeds import generator
from ovplace.testing.graphs import chain, layered

SMALL = NetworkSettings(hidden=16)


def graph(of: OpGraph, n_devices=2, seed=0):
    rng = generator(seed, "testing", "features")
    allowed = np.ones((len(of), n_devices), dtype=bool)
    return PolicyGraph(rng.random((len(of), 5)), np.unique(of.edges, axis=1), allowed, np.arange(len(of)))


def policy(settings=SMALL, n_devices=2, seed=0):
    return seeded(lambda: HsdagPolicy(5, n_devices, settings), seed)


def once(level, _):
    return level < 1


@pytest.mark.parametrize("kind", CONVOLUTIONS)
def test_the_gradient_reaches_the_scorer_and_is_right(kind):
    of = graph(layered(20, seed=1))
    net = policy(NetworkSettings(hidden=8, encoder=kind)).double()  # a finite difference needs the precision
    known = net_levels(net, of)
    weight = net.grouper.scorer.score[0].weight

    def value():
        out = run(net, of, known)
        return out.log_p[:, 0].sum()

    value().backward()
    slope = weight.grad.clone()
    at = np.unravel_index(int(slope.abs().argmax()), slope.shape)
    step = 1e-6
    with torch.no_grad():
        weight[at] += step
        above = value()
        weight[at] -= 2 * step
        below = value()
    assert float(slope[at]) != 0
    assert float((above - below) / (2 * step)) == pytest.approx(float(slope[at]), rel=1e-4)


def net_levels(net, of):
    with torch.no_grad():
        return net(of, [None], parsed_level, once).parsed.levels


def run(net, of, levels):
    recorded = iter(levels)
    return net(of, [None], lambda *_: next(recorded), lambda level, _: level < len(levels))


@pytest.mark.parametrize("drawing", [False, True])
@pytest.mark.parametrize("levels", [1, 3])
def test_known_parses_give_what_the_same_parses_give_with_all_scores(drawing, levels):
    of, net, rng = graph(layered(30, seed=4)), policy().double(), generator(0, "testing", "repeated")

    def grouping(n, pairs, scores):
        return drawn_level(n, pairs, scores, rng) if drawing else parsed_level(n, pairs, scores)

    with torch.no_grad():
        known = net(of, [None], grouping, lambda done, _: done < levels).parsed.levels
    found = []
    for out in (run(net, of, known), net(of, [None], known, lambda done, _: done < len(known))):
        loss = out.log_p[:, 0].sum() + out.parsed.log_p.sum() + out.parsed.p_stop.sum()
        gradients = torch.autograd.grad(loss, list(net.parameters()), allow_unused=True)
        found.append((out.log_p, out.parsed.log_p, *(g for g in gradients if g is not None)))
    for a, b in zip(*found, strict=True):
        torch.testing.assert_close(a, b)


def test_without_scores_in_the_pooling_no_gradient_reaches_the_scorer(monkeypatch):
    of, net = graph(layered(20, seed=1)), policy()
    pool = net.grouper.pooling.forward
    monkeypatch.setattr(
        net.grouper.pooling, "forward", lambda z, of, n, scores, held: pool(z, of, n, torch.ones_like(scores), held)
    )
    net(of, [None], parsed_level, once).log_p[:, 0].sum().backward()
    grad = net.grouper.scorer.score[0].weight.grad
    assert grad is None or not grad.any()


def test_what_is_tied_stays_together():
    rng = generator(0, "testing", "ties")
    of = layered(40, seed=3)
    pairs = np.unique(np.sort(of.edges, axis=0), axis=1)
    together = rng.integers(15, size=40)
    level = parsed_level(40, pairs, rng.random(pairs.shape[1]))
    tied = tied_level(level, together)
    for labels in (level.labels, together):
        for number in np.unique(labels):
            assert len(np.unique(tied.labels[labels == number])) == 1
    assert tied_level(level, np.arange(40)).labels.tolist() == level.labels.tolist()
    assert tied.n_groups == tied.labels.max() + 1


@pytest.mark.parametrize("levels", [1, 2, 3])
def test_copies_side_by_side_are_as_good_as_one_by_one(levels):
    of, net = graph(layered(30, seed=2)), policy()
    states = [None, torch.randn(30, 16, generator=torch.Generator().manual_seed(1)), None]
    with torch.no_grad():
        each = [net(of, [state], parsed_level, lambda level, _: level < levels) for state in states]
        depth = min(len(out.parsed.levels) for out in each)
        each = [net(of, [state], parsed_level, lambda level, _: level < depth) for state in states]
        merged = iter([joined_levels(same) for same in zip(*(out.parsed.levels for out in each), strict=True)])
        out = net(of, states, lambda *_: next(merged), lambda level, _: level < depth)
    torch.testing.assert_close(out.log_p, torch.cat([single.log_p for single in each]), rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(out.parsed.p_stop, torch.cat([s.parsed.p_stop for s in each], dim=1))


def test_levels_halve_the_nodes_until_one_is_left():
    of, net = graph(layered(60, seed=4)), policy()
    with torch.no_grad():
        levels = net(of, [None], parsed_level, lambda *_: True).parsed.levels
    sizes = [60, *(level.n_groups for level in levels)]
    assert all(2 * after <= before for before, after in pairwise(sizes))
    assert sizes[-1] == 1


def test_groups_go_where_all_members_run_or_else_where_some_do():
    allowed = np.array([[1, 1], [1, 0], [0, 1], [1, 0]], dtype=bool)
    assert group_allowed(allowed, np.array([0, 0, 1, 1]), 2).tolist() == [[True, False], [True, True]]


def test_embeddings_follow_reordered_nodes():
    of, net = graph(layered(25, seed=5)), policy()
    order = generator(0, "testing", "order").permutation(25)
    new = np.argsort(order)
    other = PolicyGraph(of.features[order], new[of.edges], of.allowed[order], np.arange(25))
    with torch.no_grad():
        a, b = (net(g, [None], parsed_level, once) for g in (of, other))
    torch.testing.assert_close(a.z[torch.from_numpy(order)], b.z, rtol=1e-4, atol=1e-5)


def test_the_global_random_stream_is_left_alone():
    torch.manual_seed(3)
    before = torch.random.get_rng_state()
    policy()
    assert torch.equal(before, torch.random.get_rng_state())


def test_only_the_dag_encoder_sees_directions():
    of = graph(layered(25, seed=6))
    backward = PolicyGraph(of.features, of.edges[::-1].copy(), of.allowed, of.group_of)
    for kind in CONVOLUTIONS:
        net = policy(NetworkSettings(hidden=16, encoder=kind))
        with torch.no_grad():
            a, b = (net(g, [None], parsed_level, once).z for g in (of, backward))
        assert torch.allclose(a, b, atol=1e-5) == (kind != "dag"), kind


@pytest.mark.parametrize("kind", CONVOLUTIONS)
def test_how_groups_are_numbered_changes_nothing(kind):
    of, net = graph(chain(("Add",) * 12)), policy(NetworkSettings(hidden=16, encoder=kind, encoded_levels=True))
    above = fixed_level(np.array([0, 0, 1, 2, 2, 3]), 5)
    found = []
    for order in (np.arange(6), np.arange(6)[::-1]):
        below = fixed_level(order[np.arange(12) // 2], 11)
        with torch.no_grad():
            parsed = run(net, of, [below, replace(above, labels=above.labels[np.argsort(order)])]).parsed
        found.append(parsed.z[torch.from_numpy(parsed.group_of)])
    torch.testing.assert_close(*found, rtol=1e-4, atol=1e-5)


def test_the_network_is_of_the_given_sizes():
    assert isinstance(policy().grouper, ParsingNetwork)
    assert policy(NetworkSettings(hidden=32)).classify[-1].weight.shape == (2, 32)


def test_the_log_probability_of_drawn_groups_is_that_of_the_draws():
    of, net = graph(layered(12, seed=7)), policy()
    rng = generator(1, "testing", "drawn")
    with torch.no_grad():
        scored = []

        def grouping(n, pairs, scores):
            scored.append((pairs, scores))
            return drawn_level(n, pairs, scores, rng)

        out = net(of, [None], grouping, once)
    (pairs, scores), chosen = scored[0], out.parsed.levels[0].chosen
    expected = 0.0
    for node, pair in enumerate(chosen):
        odds = {int(q): scores[q] / (1 - scores[q]) for q in np.flatnonzero((pairs == node).any(axis=0))} | {-1: 1.0}
        expected += np.log(odds[int(pair)] / sum(odds.values()))
    assert float(out.parsed.log_p[0]) == pytest.approx(expected, rel=1e-4)


def test_gcn_is_the_formula():
    """ReLU aside: D^(-1/2) (A + I) D^(-1/2) H W + b on the undirected graph."""
    of = graph(layered(15, seed=8))
    pairs = np.unique(np.sort(of.edges, axis=0), axis=1)
    conv = CONVOLUTIONS["gcn"](6)
    h = torch.from_numpy(generator(0, "testing", "gcn").random((15, 6))).float()
    adjacency = np.eye(15)
    adjacency[pairs[0], pairs[1]] = adjacency[pairs[1], pairs[0]] = 1.0
    scale = 1 / np.sqrt(adjacency.sum(axis=1))
    mixed = torch.from_numpy(scale[:, None] * adjacency * scale).float() @ h
    expected = mixed @ conv.conv.lin.weight.T + conv.conv.bias
    torch.testing.assert_close(conv(h, of.adjacency), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.slow
def test_networks_leave_no_files(tmp_path):
    """torch_geometric writes modules when it is first asked for a convolution, so in a process that has none yet."""
    code = "from ovplace.placers.hsdag.network.encoder import *; [GraphLayers(k, 4, 2, 0.0) for k in CONVOLUTIONS]"
    subprocess.run([sys.executable, "-c", code], env=os.environ | {"TMPDIR": str(tmp_path)}, check=True)
    assert not list(tmp_path.glob("*.py"))
