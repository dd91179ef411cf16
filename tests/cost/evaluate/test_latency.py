"""The cost model against its definition in plain Python, and the table that carries its numbers."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from ovplace.core.cost_table import CostTable
from ovplace.core.partition import Partition
from ovplace.core.traffic import Traffic
from ovplace.cost.evaluate import terms
from ovplace.cost.evaluate.latency import latency_ms, pairwise_ms
from ovplace.cost.evaluate.submodels import counts as counting
from ovplace.cost.evaluate.submodels import returning_cuts
from ovplace.cost.evaluate.submodels.counts import submodel_counts, submodels_of_groups
from ovplace.graphs.dag import topological_order
from ovplace.graphs.submodels import running_submodels, submodel_devices, submodel_labels
from ovplace.seeds import generator
from ovplace.testing.graphs import chain, diamond, graph, layered, problem


def slow_pairwise_ms(of, device_of):
    """The definition: operation by operation, tensor by tensor."""
    table, group = of.costs, of.partition.group_of
    total = sum(table.group_ms[g, d] for g, d in enumerate(device_of))
    for (a, b), saving in zip(table.edges.T, table.saving_ms, strict=True):
        if device_of[a] == device_of[b]:
            total -= saving[device_of[a]]
    passed = {}
    for (a, b), (port, _), n_bytes in zip(of.graph.edges.T, of.graph.ports.T, of.graph.out_bytes, strict=True):
        source, target = device_of[group[a]], device_of[group[b]]
        if source != target and of.graph.types[a] != "Constant":
            passed[a, port, target] = table.latency_ms[source, target] + n_bytes * table.ms_per_byte[source, target]
    return total + sum(passed.values())


def random_problem(seed):
    rng = generator(seed, "testing", "model")
    n = int(rng.integers(1, 40))
    of = layered(n, seed, width=1 + seed % 4)
    kinds = ["Constant" if kind == "Sin" and seed % 2 else kind for kind in of.types]
    of = replace(of, types=tuple(kinds))
    partition = Partition.from_labels(rng.integers(max(1, n // 2), size=n)) if seed % 3 == 0 else None
    return problem(of, 1 + seed % 4, seed, partition), rng


def random_placements(of, rng, count=12):
    scattered = rng.integers(len(of.devices), size=(count, of.n_groups))
    stretches = np.repeat(rng.integers(len(of.devices), size=(count, of.n_groups)), 5, axis=1)[:, : of.n_groups]
    return np.concatenate([scattered, stretches])


@pytest.mark.parametrize("left_out", [terms.GroupTimes, terms.Transfers, terms.Savings, terms.SubmodelOverhead])
def test_an_evaluation_that_forgets_a_term_is_seen(monkeypatch, left_out):
    monkeypatch.setattr(terms, "TERMS", [term for term in terms.TERMS if not isinstance(term, left_out)])
    with pytest.raises(AssertionError, match="Not equal"):
        test_batches_equal_the_definition()


def test_batches_equal_the_definition():
    for seed in range(30):
        of, rng = random_problem(seed)
        batch = random_placements(of, rng)
        expected = [slow_pairwise_ms(of, choice.tolist()) for choice in batch]
        np.testing.assert_allclose(pairwise_ms(of.costs, batch), expected, rtol=1e-12, err_msg=f"seed {seed}")
        counts = submodel_counts(of.n_groups, of.costs.edges, batch, len(of.devices))
        full = expected + counts @ of.costs.submodel_ms
        np.testing.assert_allclose(latency_ms(of.costs, batch), full, rtol=1e-12, err_msg=f"seed {seed}")


def test_a_tensor_is_paid_once_for_each_device_that_reads_it():
    of = problem(graph(("Add", "Relu", "Relu", "Sin"), [(0, 1), (0, 2), (0, 3)]), 3)
    free = replace(of.costs, saving_ms=0 * of.costs.saving_ms, group_ms=0 * of.costs.group_ms)
    cost = free.transfer_ms()[0]
    found = pairwise_ms(free, np.array([[0, 0, 0, 0], [0, 1, 1, 1], [0, 1, 1, 2], [1, 0, 2, 1]]))
    np.testing.assert_allclose(found, [0, cost[0, 1], cost[0, 1] + cost[0, 2], cost[1, 0] + cost[1, 2]])


@pytest.mark.parametrize("seed", range(40))
def test_labels_are_of_one_device_connected_and_acyclic(seed):
    of, rng = random_problem(seed)
    batch, edges = random_placements(of, rng), of.costs.edges
    for choice, labels in zip(batch, submodels_of_groups(of.n_groups, edges, batch), strict=True):
        assert (choice[labels] == choice).all()
        assert (labels[labels] == labels).all()
        assert (labels <= np.arange(of.n_groups)).all()
        if of.quotient.is_acyclic:
            pairs = labels[edges]
            topological_order(of.n_groups, pairs[:, pairs[0] != pairs[1]])


def hetero_counts(of, choice):
    submodels = running_submodels(of.graph, choice)
    return np.bincount(submodel_devices(of.graph, choice, submodels), minlength=len(of.devices))


@pytest.mark.parametrize("seed", range(20))
def test_counts_are_those_of_hetero_where_no_region_returns(seed):
    """Placements that never come back to a device: on a chain anything, elsewhere a cut of the order."""
    rng = generator(seed, "testing", "counts")
    path = problem(chain(("Add", "Relu", "Sin") * 4), 3)
    any_of_path = rng.integers(3, size=(10, 12))
    of = problem(layered(30, seed), 2)
    cuts = np.array([of.graph.rank >= at for at in range(0, 31, 3)], dtype=np.int64)
    for case, batch in ((path, any_of_path), (of, cuts)):
        found = submodel_counts(case.n_groups, case.costs.edges, batch, len(case.devices))
        assert found.tolist() == [hetero_counts(case, choice).tolist() for choice in batch]


@pytest.mark.parametrize("seed", range(40))
def test_groups_are_cut_like_operations_that_read_a_constant_each(seed):
    of, rng = random_problem(seed)
    if not of.quotient.is_acyclic:
        of = problem(layered(of.n_groups, seed))
    n = of.n_groups
    constants = [(n + group, group) for group in range(n)]
    operations = graph(["Relu"] * n + ["Constant"] * n, [*of.costs.edges.T.tolist(), *constants])
    batch = random_placements(of, rng)
    for choice, found in zip(batch, submodels_of_groups(n, of.costs.edges, batch), strict=True):
        expected = submodel_labels(operations, np.concatenate([choice, choice]))[:n]
        _, first, inverse = np.unique(expected, return_index=True, return_inverse=True)
        assert found.tolist() == first[inverse].tolist()


def test_a_region_that_is_left_and_entered_again_is_cut():
    of = problem(diamond())
    choice = np.array([[0, 1, 1, 0, 0, 0]])
    counts = submodel_counts(of.n_groups, of.costs.edges, choice, 2)
    assert counts.tolist() == [[2, 1]]
    assert counts[0].tolist() == hetero_counts(of, choice[0]).tolist()


@pytest.mark.parametrize("words", [1, 700, 5000])
@pytest.mark.parametrize("seed", range(6))
def test_chunks_change_nothing(monkeypatch, words, seed):
    of, rng = random_problem(seed)
    batch = random_placements(of, rng)
    monkeypatch.setattr(counting, "_FEW", 0)  # remembers nothing
    expected = submodels_of_groups(of.n_groups, of.costs.edges, batch)
    monkeypatch.setattr(counting, "_CHUNK_WORDS", words)
    monkeypatch.setattr(returning_cuts, "_CHUNK_BITS", 8 * words)
    assert (submodels_of_groups(of.n_groups, of.costs.edges, batch) == expected).all()


def test_more_than_64_submodels_that_need_each_other():
    """A skip connection around a hundred changes of device: the outer region is cut once, however far."""
    n = 201
    of = problem(graph(("Parameter", *("Add",) * (n - 1)), [*zip(range(n - 1), range(1, n), strict=True), (1, n - 1)]))
    alternating = (np.arange(-1, n - 1) % 2)[None]
    alternating[0, [0, -1]] = 0
    counts = submodel_counts(n, of.costs.edges, alternating, 2)
    assert counts[0].tolist() == hetero_counts(of, alternating[0]).tolist()


def test_no_placements_and_no_groups():
    of = problem(diamond())
    assert latency_ms(of.costs, np.empty((0, 6), dtype=np.int64)).shape == (0,)
    assert submodels_of_groups(0, np.empty((2, 0), dtype=np.int64), np.empty((3, 0), dtype=np.int64)).shape == (3, 0)


@pytest.mark.parametrize("n", [1, 12])
def test_a_table_goes_through_json(n):
    allowed = np.ones((n, 3), dtype=bool)
    allowed[::2, 1] = False
    table = problem(layered(n, 4), 3, supported=allowed).costs
    assert np.isinf(table.group_ms).any()
    assert np.isinf(table.memory_bytes).all()
    text = json.dumps(table.to_dict(), allow_nan=False)
    again = CostTable.from_dict(json.loads(text))
    for name in ("edges", "group_ms", "saving_ms", "latency_ms", "ms_per_byte", "submodel_ms", "memory_bytes"):
        np.testing.assert_array_equal(getattr(again, name), getattr(table, name))
    for name in ("source", "n_bytes", "starts", "readers"):
        np.testing.assert_array_equal(getattr(again.traffic, name), getattr(table.traffic, name))
    assert again.source == table.source
    assert json.dumps(again.to_dict()) == text


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"saving_ms": np.zeros((1, 2))}, "saving_ms of shape"),
        ({"submodel_ms": np.zeros(3)}, "submodel_ms of shape"),
        ({"latency_ms": np.zeros((2, 3))}, "latency_ms of shape"),
        ({"group_bytes": np.zeros(2)}, "group_bytes of shape"),
        ({"group_ms": -np.ones((6, 2))}, "must not be negative"),
        ({"ms_per_byte": np.full((2, 2), np.nan)}, "must not be negative"),
        ({"group_ms": np.full((6, 2), np.inf)}, "finite cost"),
        ({"submodel_ms": np.array([0, np.inf])}, "must be finite"),
    ],
)
def test_bad_tables_are_refused(change, complaint):
    with pytest.raises(ValueError, match=complaint):
        replace(problem(diamond()).costs, **change)


@pytest.mark.parametrize("starts", [[1], [0, 0], [0, 2], []])
def test_bad_traffic_is_refused(starts):
    with pytest.raises(ValueError, match="tensor"):
        Traffic(np.array([0, 1]), np.array([4, 4]), np.array(starts), np.array([1, 2]))
