"""The minimum cut against brute force, and broken solvers that the same check finds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ovplace.core.certificate import PAIRWISE
from ovplace.core.cost_table import CostTable
from ovplace.core.traffic import Traffic
from ovplace.cost.evaluate.latency import latency_ms, pairwise_ms
from ovplace.cost.solvers import min_cut
from ovplace.cost.solvers.min_cut import full_bound_ms, solve_min_cut, weighted
from ovplace.seeds import generator
from ovplace.testing.graphs import chain, costs, graph, layered, problem
from ovplace.testing.placements import every_choice, optimum

INSTANCES = 300


def partly_supported(n, rng):
    supported = np.ones((n, 2), dtype=bool)
    bound = rng.random(n) < 0.2
    supported[bound, rng.integers(2, size=bound.sum())] = False
    return supported


def random_table(seed):
    """2 to 10 groups; every third graph has a tensor with many readers and dear links, all have one-sided links."""
    rng = generator(seed, "testing", "min cut")
    n = 2 + seed % 9
    of = layered(n, seed)
    if seed % 3 == 0:
        star = [(0, node) for node in range(1, n)]
        of = graph(of.types, [*star, *((a, b) for a, b in of.edges.T.tolist() if a != 0)])
    bare = problem(of, seed=seed, supported=partly_supported(n, rng))
    return costs(bare, seed, transfer_ms=float(rng.choice([0.1, 0.5, 3.0])))


@pytest.fixture(scope="module")
def tables():
    found = [random_table(seed) for seed in range(INSTANCES)]
    assert any(np.isinf(table.group_ms).any() for table in found)
    assert any((np.diff(table.traffic.starts) > 2).any() for table in found)
    assert any(table.saving_ms.any() for table in found)
    return [(table, optimum(table, pairwise_ms)) for table in found]


def is_proven_optimum(table, best_ms):
    found = solve_min_cut(table)
    certificate = found.certificate
    assert certificate.model == PAIRWISE
    value_ms = float(pairwise_ms(table, found.device_of[None])[0])
    return (
        value_ms == certificate.value_ms
        and value_ms == pytest.approx(best_ms, rel=1e-9)
        and certificate.lower_bound_ms <= best_ms + 1e-12
        and certificate.gap < 1e-6
    )


def test_finds_the_optimum_every_time(tables):
    assert all(is_proven_optimum(table, best_ms) for table, best_ms in tables)


def test_a_single_flow_finds_it_within_a_millionth(tables):
    for table, best_ms in tables:
        found = solve_min_cut(table, rounds=1)
        assert float(pairwise_ms(table, found.device_of[None])[0]) <= best_ms * (1 + 1e-6)
        assert found.certificate.lower_bound_ms <= best_ms + 1e-12


def counted_for_each_reader(table):
    traffic = table.traffic
    each = np.arange(len(traffic.readers))
    apart = Traffic(traffic.source[traffic.tensor_of], traffic.n_bytes[traffic.tensor_of], each, traffic.readers)
    return replace(table, traffic=apart)


MUTATIONS = {
    "savings ignored": lambda table: replace(table, saving_ms=np.zeros_like(table.saving_ms)),
    "tensors counted for each reader": counted_for_each_reader,
    "links the same both ways": lambda table: replace(table, latency_ms=table.latency_ms.T),
    "a cost left out": lambda table: replace(table, group_ms=table.group_ms * (np.arange(table.n_groups) > 0)[:, None]),
}


@pytest.mark.parametrize("mutation", MUTATIONS)
def test_a_broken_solver_is_seen(tables, monkeypatch, mutation):
    network = min_cut._network
    finite = [(table, best) for table, best in tables if np.isfinite(table.group_ms).all()]
    monkeypatch.setattr(min_cut, "_network", lambda table: network(MUTATIONS[mutation](table)))
    assert not all(is_proven_optimum(table, best_ms) for table, best_ms in finite)


def test_integers_alone_would_leave_a_gap_that_the_bound_admits(monkeypatch):
    """A few bits of capacity give a worse placement, with an honest gap."""
    monkeypatch.setattr(min_cut, "_LIMIT", 10)
    gaps = []
    for seed in range(40):
        table = random_table(seed)
        certificate = solve_min_cut(table).certificate
        assert certificate.lower_bound_ms <= optimum(table, pairwise_ms) + 1e-12 <= certificate.value_ms + 2e-12
        gaps.append(certificate.gap)
    assert max(gaps) > 1e-4


@pytest.mark.parametrize("factor", [1e-9, 1e9])
def test_any_unit_of_time_does(factor):
    table = random_table(9)
    scaled = {name: factor * getattr(table, name) for name in ("group_ms", "saving_ms", "latency_ms", "ms_per_byte")}
    assert is_proven_optimum(replace(table, **scaled), factor * optimum(table, pairwise_ms))


def test_a_large_graph_is_proven_too():
    assert solve_min_cut(problem(layered(2000, 1)).costs).certificate.gap < 1e-6


def test_nothing_to_pay():
    table = problem(chain(("Add", "Relu"))).costs
    nothing = {name: 0 * getattr(table, name) for name in ("group_ms", "saving_ms", "latency_ms", "ms_per_byte")}
    free = replace(table, **nothing)
    certificate = solve_min_cut(free).certificate
    assert certificate.value_ms == certificate.lower_bound_ms == certificate.gap == 0


def test_no_groups():
    empty = np.empty(0, dtype=np.int64)
    table = CostTable(
        Traffic(empty, empty, empty, empty), np.empty((2, 0)), np.empty((0, 2)), np.empty((0, 2)),
        np.zeros((2, 2)), np.zeros((2, 2)), np.zeros(2), np.empty(0), np.full(2, np.inf),
    )  # fmt: skip
    assert solve_min_cut(table).device_of.shape == (0,)
    assert full_bound_ms(table, 0.0) == 0.0


@pytest.mark.parametrize("count", [1, 3])
def test_two_devices_only(count):
    with pytest.raises(ValueError, match=f"exactly 2 devices, got {count}"):
        solve_min_cut(problem(chain(("Add", "Relu")), count).costs)


@pytest.mark.parametrize("weight", [-1.0, np.inf, np.nan])
def test_impossible_weights(weight):
    with pytest.raises(ValueError, match="boundary weight"):
        weighted(random_table(0), weight)


def test_dearer_transfers_cross_less():
    table = problem(layered(200, 5)).costs
    changes = [
        (solution.device_of[table.edges[0]] != solution.device_of[table.edges[1]]).sum()
        for solution in (solve_min_cut(weighted(table, weight)) for weight in (0.0, 1.0, 5.0, 100.0))
    ]
    assert changes == sorted(changes, reverse=True)
    assert changes[-1] < changes[0]


def test_the_bound_of_the_full_model_holds():
    for seed in range(60):
        table = random_table(seed)
        bound = full_bound_ms(table, solve_min_cut(table).certificate.lower_bound_ms)
        values = latency_ms(table, every_choice(table))
        assert bound <= values.min() + 1e-12
        assert bound > optimum(table, pairwise_ms)
