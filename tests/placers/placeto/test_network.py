"""Placeto's network against slow loops, and what it must not depend on: the order of groups and of devices."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from ovplace.core.cost_table import CostTable
from ovplace.core.problem import Problem
from ovplace.learning.initialise import seeded
from ovplace.placers.placeto.network import Messages, Placeto, PlacetoSettings, Pooling
from ovplace.placers.placeto.observation import PlacetoGraph, label_free, pair_features, view_features
from ovplace.seeds import generator
from ovplace.testing.graphs import chain, devices, layered, problem, reordered

SMALL = {"hidden": 8, "rounds": 3}


def rng(*path):
    return generator(0, "testing", "placeto", *path)


def graph_of(of):
    return PlacetoGraph.of(of, of.costs)


def probabilities(network, graph, device_of, visits, current):
    """Return the probability of each device for each group, decided on one encoding, `[N, B, D]`."""
    describe = label_free if network.by_class else view_features
    x = torch.from_numpy(describe(graph, device_of, visits, current)).float()[None]
    every = np.arange(len(graph))
    own, sets = torch.from_numpy(every[None]), torch.from_numpy(graph.sets[:, None])
    pairs = pair_features(graph, device_of, every, graph.moves.all_ms(device_of)).transpose(2, 0, 1, 3)
    with torch.no_grad():
        context = network.context(x, torch.from_numpy(graph.edges), own, sets)[0]
        allowed = torch.from_numpy(graph.allowed)[:, None]
        return network.log_p(context, torch.from_numpy(pairs).float(), allowed).exp().numpy()


@pytest.mark.parametrize("seed", range(2))
def test_messages_are_those_of_a_slow_loop(seed):
    of = problem(layered(12, seed=seed))
    messages = seeded(lambda: Messages(8, PlacetoSettings(rounds=3)), seed)
    h0 = torch.from_numpy(rng("messages", seed).normal(size=(12, 2, 8))).float()
    source, target = torch.from_numpy(of.quotient.edges)
    h = h0
    for _ in range(3):
        rows = []
        for node in range(12):
            parents = [messages.f(h[a]) for a, b in of.quotient.edges.T.tolist() if b == node]
            rows.append(messages.g(sum(parents) if parents else torch.zeros(2, 8)) + h0[node])
        h = torch.stack(rows)
    torch.testing.assert_close(messages(h0, source, target), h)
    with pytest.raises(AssertionError):  # the other direction is another thing
        torch.testing.assert_close(messages(h0, target, source), h)


def test_messages_reach_as_far_as_there_are_rounds():
    messages = seeded(lambda: Messages(8, PlacetoSettings(rounds=3)), 0)
    source = torch.arange(9)
    h0 = torch.ones(10, 1, 8)
    other = h0.clone()
    other[0] += 1.0
    changed = (messages(h0, source, source + 1) != messages(other, source, source + 1)).any(dim=2)[:, 0]
    assert changed.tolist() == [True] * 4 + [False] * 6


def test_pooling_is_the_mean_over_the_set():
    pooling = seeded(lambda: Pooling(4, PlacetoSettings()), 0)
    h = torch.from_numpy(rng("pooling").normal(size=(2, 5, 3, 4))).float()
    sets = [[0, 2], [1], []]
    members = torch.zeros(2, 3, 5)
    for row, chosen in enumerate(sets):
        members[:, row, chosen] = 1 / max(1, len(chosen))
    expected = torch.stack(
        [
            torch.stack(
                [
                    pooling.after(pooling.before(h[k, chosen]).mean(dim=0) if chosen else torch.zeros(3, 4))
                    for chosen in sets
                ]
            )
            for k in range(2)
        ]
    )
    torch.testing.assert_close(pooling(h, members), expected)


def permuted_groups(of, order):
    """Return the same problem with group `order[i]` at index i."""
    table, place = of.costs, np.argsort(order)
    graph = reordered(of.graph, order)
    other = problem(graph, len(of.devices), supported=of.supported[order])
    at = {tuple(edge): k for k, edge in enumerate(table.edges.T.tolist())}
    edges = [at[order[a], order[b]] for a, b in other.quotient.edges.T.tolist()]
    costs = CostTable(
        traffic=other.costs.traffic,
        edges=other.quotient.edges,
        group_ms=table.group_ms[order],
        saving_ms=table.saving_ms[edges],
        latency_ms=table.latency_ms,
        ms_per_byte=table.ms_per_byte,
        submodel_ms=table.submodel_ms,
        group_bytes=table.group_bytes[order],
        memory_bytes=table.memory_bytes,
    )
    return Problem(graph, other.partition, of.devices, other.supported, other.features, 0, costs), place


@pytest.mark.parametrize("head", ["classes", "devices"])
def test_decisions_follow_reordered_groups(head):
    of = problem(chain(("Add", "Sin", "Relu", "MatMul") * 3), n_devices=3)
    order = rng("order").permutation(12)
    other, place = permuted_groups(of, order)
    network = seeded(lambda: Placeto(PlacetoSettings(head=head, **SMALL), 3), 0)
    device_of, visits = rng("placed").integers(3, size=(4, 12)), np.arange(12) % 2
    one = probabilities(network, graph_of(of), device_of, visits, 5)
    two = probabilities(network, graph_of(other), device_of[:, order], visits[order], int(place[5]))
    np.testing.assert_allclose(two, one[order], atol=1e-5)


def permuted_devices(of, order):
    """Return the same problem with device `order[i]` at index i."""
    table = of.costs
    costs = CostTable(
        traffic=table.traffic,
        edges=table.edges,
        group_ms=table.group_ms[:, order],
        saving_ms=table.saving_ms[:, order],
        latency_ms=table.latency_ms[np.ix_(order, order)],
        ms_per_byte=table.ms_per_byte[np.ix_(order, order)],
        submodel_ms=table.submodel_ms[order],
        group_bytes=table.group_bytes,
        memory_bytes=table.memory_bytes[order],
    )
    return Problem(of.graph, of.partition, devices(len(order)), of.supported[:, order], of.features, 0, costs)


@pytest.mark.parametrize("head", ["classes", "devices"])
def test_permuting_devices_permutes_the_choice_of_the_device_aware_head_only(head):
    supported = np.ones((14, 4), dtype=bool)
    supported[::3, 2] = False
    of = problem(layered(14, seed=3), 4, supported=supported)
    order = np.array([2, 0, 3, 1])
    graph, other = graph_of(of), graph_of(permuted_devices(of, order))
    network = seeded(lambda: Placeto(PlacetoSettings(head=head, **SMALL), 4), 0)
    device_of = graph.repaired(rng("devices").integers(4, size=(3, 14)))
    visits = np.zeros(14, dtype=np.int64)
    one = probabilities(network, graph, device_of, visits, 2)
    two = probabilities(network, other, np.argsort(order)[device_of], visits, 2)
    assert np.allclose(two, one[:, :, order], atol=1e-5) == (head == "devices")


def test_one_device_aware_network_is_for_any_number_of_devices_and_groups():
    network = seeded(lambda: Placeto(PlacetoSettings(**SMALL), 1), 0)
    for n, d in ((1, 1), (5, 2), (20, 5)):
        graph = graph_of(problem(layered(n, seed=1), d))
        found = probabilities(network, graph, np.zeros((2, n), dtype=np.int64), np.zeros(n, dtype=np.int64), 0)
        assert found.shape == (n, 2, d)
        np.testing.assert_allclose(found.sum(axis=2), 1.0, rtol=1e-5)


def test_a_device_that_cannot_run_a_group_has_probability_0():
    supported = np.array([[True, False]] * 4)
    supported[2] = True
    graph = graph_of(problem(chain(("Add",) * 4), supported=supported))
    for head in ("classes", "devices"):
        network = seeded(lambda head=head: Placeto(PlacetoSettings(head=head, **SMALL), 2), 0)
        found = probabilities(network, graph, np.zeros((1, 4), dtype=np.int64), np.zeros(4, dtype=np.int64), 0)
        assert ((found[:, 0] > 0) == supported).all()
