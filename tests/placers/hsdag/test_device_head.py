"""The head that knows devices by what they are: symmetries, any number of devices, exact sums, true gradients."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from ovplace.core.cost_table import CostTable
from ovplace.core.partition import Partition
from ovplace.core.traffic import Traffic
from ovplace.cost.evaluate.latency import pairwise_ms
from ovplace.learning.initialise import seeded
from ovplace.placers.hsdag.network.pair_costs import FEATURES, PairCosts
from ovplace.placers.hsdag.network.policy import HsdagPolicy
from ovplace.placers.hsdag.network.policy_graph import PolicyGraph, n_columns, policy_graph
from ovplace.placers.hsdag.network.settings import NetworkSettings
from ovplace.placers.hsdag.zero_shot import group_log_p
from ovplace.testing.graphs import chain, devices, diamond, layered, problem, reordered

SETTINGS = NetworkSettings(hidden=8, head="devices", head_hidden=8, head_rounds=3, described=False, encoder="dag")


def network(settings=SETTINGS, seed=0):
    return seeded(lambda: HsdagPolicy(n_columns(0, False), 0, settings), seed).double()


def seen(of):
    return policy_graph(of, nodes="groups", costs=True, device_aware=True, described=False)


def said(net, of):
    """Return the probability of each device for each group."""
    with torch.no_grad():
        return group_log_p(net, seen(of)).exp().numpy()


def with_devices(of, order):
    """Return the problem with its devices in another order."""
    costs, order = of.costs, np.array(order)
    square = np.ix_(order, order)
    moved = replace(
        costs,
        group_ms=costs.group_ms[:, order],
        saving_ms=costs.saving_ms[:, order],
        latency_ms=costs.latency_ms[square],
        ms_per_byte=costs.ms_per_byte[square],
        submodel_ms=costs.submodel_ms[order],
        memory_bytes=costs.memory_bytes[order],
    )
    return replace(of, supported=of.supported[:, order], costs=moved)


def partly(of_graph, n_devices, seed=0):
    """Return a problem in which the second device cannot run every third operation."""
    supported = np.ones((len(of_graph), n_devices), dtype=bool)
    supported[::3, 1] = False
    return problem(of_graph, n_devices, seed, supported=supported)


@pytest.mark.parametrize("n_devices", [1, 2, 3, 5])
def test_one_network_serves_any_number_of_devices(n_devices):
    p = said(network(), problem(layered(20, seed=1), n_devices))
    assert p.shape == (20, n_devices)
    assert np.allclose(p.sum(axis=1), 1)


def test_permuted_devices_have_permuted_probabilities():
    of, order = partly(layered(20, seed=2), 4), [2, 0, 3, 1]
    p = said(network(), of)
    assert np.allclose(said(network(), with_devices(of, order)), p[:, order], atol=1e-9)
    assert p.std(axis=0).max() > 1e-3, "it does tell groups apart"
    assert np.ptp(p[1]) > 1e-3, "and devices"


def test_a_head_that_numbers_devices_would_be_noticed(monkeypatch):
    of, order = partly(layered(20, seed=2), 4), [2, 0, 3, 1]
    true = PairCosts.features

    def numbered(self):
        rows = true(self)
        rows[..., 0] += np.arange(rows.shape[1])
        return rows

    monkeypatch.setattr(PairCosts, "features", numbered)
    assert not np.allclose(said(network(), with_devices(of, order)), said(network(), of)[:, order], atol=1e-3)


def test_permuted_groups_have_permuted_probabilities():
    graph = layered(15, seed=3)
    order = np.random.default_rng(0).permutation(15)
    position = np.argsort(order)
    of, other = problem(graph), problem(reordered(graph, order))
    costs, edges = of.costs, position[of.costs.edges]
    edge_order = np.lexsort((edges[1], edges[0]))
    traffic = costs.traffic
    moved = replace(
        costs,
        edges=edges[:, edge_order],
        saving_ms=costs.saving_ms[edge_order],
        group_ms=costs.group_ms[order],
        group_bytes=costs.group_bytes[order],
        traffic=Traffic(position[traffic.source], traffic.n_bytes, traffic.starts, position[traffic.readers]),
    )
    found = said(network(), replace(other, costs=moved))
    assert np.allclose(found, said(network(), of)[order], atol=1e-9)


def test_nothing_runs_where_it_cannot():
    of = partly(layered(20, seed=4), 3)
    assert (said(network(), of)[~of.allowed] == 0).all()


def test_a_machine_that_is_ten_times_as_fast_in_all_is_the_same():
    of = problem(layered(20, seed=5), 3)
    names = ("group_ms", "saving_ms", "latency_ms", "ms_per_byte", "submodel_ms")
    slower = replace(of.costs, **{name: 10 * getattr(of.costs, name) for name in names})
    assert np.allclose(said(network(), replace(of, costs=slower)), said(network(), of), atol=1e-9)


def test_graphs_side_by_side_are_as_they_are_alone():
    problems = [partly(layered(n, seed=n), d) for n, d in ((12, 2), (20, 4), (7, 3))]
    graphs = [seen(of) for of in problems]
    joined = PolicyGraph.union(graphs)
    with torch.no_grad():
        together = group_log_p(network(), joined).exp().numpy()
    start = 0
    for of in problems:
        part = together[start : start + of.n_groups]
        assert np.allclose(part[:, : len(of.devices)], said(network(), of), atol=1e-9)
        assert (part[:, len(of.devices) :] == 0).all(), "devices that only fill up are never chosen"
        start += of.n_groups


def test_every_weight_has_a_true_gradient():
    of = partly(layered(12, seed=6), 3)
    net = network()

    def value():
        return group_log_p(net, seen(of))[:, 0].clamp(min=-20.0).sum()

    value().backward()
    rng = np.random.default_rng(0)
    checked = 0
    for name, weight in net.classify.named_parameters():
        slope = weight.grad.clone()
        at = np.unravel_index(int(slope.abs().argmax()), slope.shape) if rng.random() < 0.8 else (0,) * slope.dim()
        with torch.no_grad():
            weight[at] += 1e-6
            above = value()
            weight[at] -= 2e-6
            below = value()
            weight[at] += 1e-6
        numeric = float((above - below) / 2e-6)
        assert numeric == pytest.approx(float(slope[at]), rel=1e-3, abs=1e-6), name
        checked += float(slope[at]) != 0
    assert checked > 10


def test_no_shape_depends_on_devices_or_groups():
    shapes = {name: tuple(weight.shape) for name, weight in network().state_dict().items()}
    assert all(size in (1, 4, 8, 2 * 8, FEATURES, 13, 50) for shape in shapes.values() for size in shape), shapes


def test_single_readers_pay_what_the_cost_table_says():
    of = problem(chain(("Add", "Sin", "MatMul", "Relu")), 3)
    pairs, unit = PairCosts.of(of), of.costs.group_ms.min(axis=1).mean()
    rng = np.random.default_rng(0)
    for _ in range(20):
        choice = rng.integers(3, size=4)
        source, target = choice[pairs.edges]
        edge = np.arange(pairs.edges.shape[1])
        total = pairs.work[np.arange(4), choice].sum() + pairs.transfer[edge, source, target].sum()
        total -= np.where(source == target, pairs.saving[edge, source], 0).sum()
        assert total * unit == pytest.approx(pairwise_ms(of.costs, choice[None])[0])


def test_readers_share_what_is_passed_once():
    """Three readers of one tensor on one other device: together they pay for it once."""
    table = CostTable(
        traffic=Traffic(np.array([0]), np.array([1000]), np.array([0]), np.array([1, 2, 3])),
        edges=np.array([[0, 0, 0], [1, 2, 3]]),
        group_ms=np.ones((4, 2)),
        saving_ms=np.zeros((3, 2)),
        latency_ms=np.ones((2, 2)),
        ms_per_byte=np.full((2, 2), 1e-3),
        submodel_ms=np.zeros(2),
        group_bytes=np.zeros(4),
        memory_bytes=np.full(2, np.inf),
    )
    of = replace(problem(layered(4, seed=0)), costs=table)
    pairs = PairCosts.of(of)
    assert pairs.transfer[:, 0, 1].sum() == pytest.approx(2.0)
    assert (pairs.transfer[:, [0, 1], [0, 1]] == 0).all()


def test_merged_groups_cost_what_their_members_do():
    of = partly(diamond(), 3)
    pairs, together = PairCosts.of(of), np.array([0, 0, 1, 2, 2, 1])
    allowed = np.ones((3, 3), dtype=bool)
    np.logical_and.at(allowed, together, of.allowed)
    merged = pairs.merged(together, allowed)
    coarse = Partition(together)
    assert {tuple(pair) for pair in merged.edges.T} == {tuple(pair) for pair in coarse.quotient(of.graph).edges.T}
    rng = np.random.default_rng(1)
    for _ in range(20):
        choice = np.array([rng.choice(np.flatnonzero(row)) for row in allowed])
        assert _total(merged, choice) == pytest.approx(_total(pairs, choice[together]))


def _total(pairs, choice):
    source, target = choice[pairs.edges]
    edge = np.arange(pairs.edges.shape[1])
    passed = pairs.transfer[edge, source, target].sum()
    saved = np.where(source == target, pairs.saving[edge, source], 0).sum()
    return pairs.work[np.arange(len(choice)), choice].sum() + passed - saved


def test_without_costs_all_groups_are_alike():
    of = replace(problem(layered(10, seed=0), 2), costs=None)
    p = said(network(), of)
    assert np.allclose(p, 0.5)


def test_a_group_that_a_device_only_claims_to_run_counts_as_slow():
    of = problem(chain(("Add", "Sin", "MatMul")))
    times = np.array(of.costs.group_ms)
    times[1, 0] = np.inf
    pairs = PairCosts.of(replace(of, costs=replace(of.costs, group_ms=times)))
    assert pairs.work[1, 0] == pairs.work.max()
    assert np.isfinite(pairs.features()).all()


def test_one_group_and_one_device_are_placed():
    one = problem(chain(("Add",)), 1)
    assert said(network(), one).tolist() == [[1.0]]
    assert len(devices(1)) == 1
