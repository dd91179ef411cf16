"""The simulator of devices that work side by side, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from ovplace.core.cost_table import CostTable
from ovplace.core.partition import Partition
from ovplace.core.traffic import Traffic
from ovplace.cost.evaluate.latency import latency_ms
from ovplace.placers.placeto.makespan import makespan_ms
from ovplace.seeds import generator
from ovplace.testing.graphs import layered, problem


def table(group_ms, tensors, edges, saving_ms=0.0, latency_ms=2.0):
    """Return costs on two devices: every transfer takes `latency_ms`; tensors are (source, readers)."""
    readers = [reader for _, those in tensors for reader in those]
    starts = np.cumsum([0, *(len(those) for _, those in tensors)])[:-1]
    return CostTable(
        traffic=Traffic([source for source, _ in tensors], [0] * len(tensors), starts, readers),
        edges=np.array(edges, dtype=np.int64).reshape(-1, 2).T,
        group_ms=np.repeat(np.array(group_ms, dtype=np.float64)[:, None], 2, axis=1),
        saving_ms=np.full((len(edges), 2), saving_ms),
        latency_ms=np.array([[0.0, latency_ms], [latency_ms, 0.0]]),
        ms_per_byte=np.zeros((2, 2)),
        submodel_ms=np.zeros(2),
        group_bytes=np.zeros(len(group_ms)),
        memory_bytes=np.full(2, np.inf),
    )


def span(costs, placement):
    return float(makespan_ms(costs, np.array([placement]), np.arange(len(placement)))[0])


def test_branches_run_side_by_side():
    # 0 (1 ms) feeds 1 (5 ms) and 2 (4 ms), which feed 3 (1 ms); a transfer takes 2 ms
    costs = table([1, 5, 4, 1], [(0, (1, 2)), (1, (3,)), (2, (3,))], [(0, 1), (0, 2), (1, 3), (2, 3)])
    assert span(costs, [0, 0, 0, 0]) == 11
    # 0 ends at 1; 1 runs 1..6; 2 arrives at 3, runs 3..7, is back at 9; 3 runs 9..10
    assert span(costs, [0, 0, 1, 0]) == 10
    # the join beside the shorter branch: 1's tensor is there at 8, 2 ends at 7, 3 runs 8..9
    assert span(costs, [0, 0, 1, 1]) == 9


def test_a_tensor_is_sent_once_for_all_its_readers():
    costs = table([1, 1, 1], [(0, (1, 2))], [(0, 1), (0, 2)])
    assert span(costs, [0, 1, 1]) == 1 + 2 + 1 + 1


def test_tensors_of_one_device_wait_for_each_other():
    # two outputs of one group for two groups elsewhere: the second arrives 2 ms after the first
    costs = table([1, 1, 1], [(0, (1,)), (0, (2,))], [(0, 1), (0, 2)])
    assert span(costs, [0, 1, 1]) == 1 + 2 + 2 + 1


def test_devices_run_first_come_first_served():
    # 2 (10 ms) is ready at 0, 1 (1 ms) arrives at 3: it waits, though it is earlier in the order
    costs = table([1, 1, 10], [(0, (1,))], [(0, 1)])
    assert span(costs, [0, 1, 1]) == 11
    # 2 is ready at 0, after 0 in the order: 0, 2, then 1, which became ready at 1
    assert span(costs, [0, 0, 0]) == 12


def test_savings_shorten_the_later_group():
    costs = table([4, 3], [(0, (1,))], [(0, 1)], saving_ms=1.0)
    assert span(costs, [0, 0]) == 6
    assert span(costs, [0, 1]) == 9


@pytest.mark.parametrize("seed", range(6))
def test_one_device_alone_takes_what_the_sequential_model_says(seed):
    of = problem(layered(20, seed), n_devices=3, seed=seed)
    uniform = np.tile(np.arange(3)[:, None], 20)
    found = makespan_ms(of.costs, uniform, of.group_order)
    np.testing.assert_allclose(found, latency_ms(of.costs, uniform) - of.costs.submodel_ms)


@pytest.mark.parametrize("seed", range(6))
def test_it_lies_between_the_longest_path_and_one_after_another(seed):
    of = problem(layered(20, seed), n_devices=3, seed=seed)
    device_of = generator(seed, "testing", "makespan").integers(3, size=(10, 20))
    found = makespan_ms(of.costs, device_of, of.group_order)
    assert (found <= latency_ms(of.costs, device_of) + 1e-9).all()
    least = of.costs.group_ms[np.arange(20), device_of].max(axis=1)
    saved = of.costs.saving_ms.sum()
    assert (found >= least - saved).all()


def test_groups_in_a_circle_end():
    of = problem(layered(16, seed=1), partition=Partition(np.arange(16) % 5))
    device_of = generator(0, "testing", "circle").integers(2, size=(5, 5))
    assert np.isfinite(makespan_ms(of.costs, device_of, of.group_order)).all()
