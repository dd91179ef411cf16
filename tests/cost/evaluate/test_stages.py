"""Stages of placements: their equations add up to the whole, and say what only the whole cannot."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from ovplace.core.cost_table import CostTable
from ovplace.core.device import Device
from ovplace.core.partition import Partition
from ovplace.core.problem import Problem
from ovplace.cost.evaluate.design_matrix import design_matrix, parameters, stage_matrix
from ovplace.cost.evaluate.stages import Stages, reader_shares
from ovplace.graphs.op_graph import IntArray
from ovplace.graphs.submodels import running_submodels
from ovplace.seeds import generator
from ovplace.testing.graphs import chain, diamond, layered, problem

CPU, GPU, NPU = Device("CPU", "CPU"), Device("GPU", "GPU"), Device("NPU", "NPU")


def stages_of(of: Problem, device_of: IntArray, devices: Sequence[Device] = (CPU, GPU)) -> Stages:
    placed = of.partition.group_of
    return Stages.of(of.graph, of.partition, device_of[placed], reader_shares(tuple(devices)))


def costs_of(of: Problem) -> CostTable:
    assert of.costs is not None
    return of.costs


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("devices", [(CPU, GPU), (GPU, CPU, NPU)])
def test_stages_add_up_to_the_whole(seed: int, devices: tuple[Device, ...]) -> None:
    d = len(devices)
    of = problem(layered(14, seed), d, seed)
    table = costs_of(of)
    for device_of in generator(seed, "test").integers(d, size=(10, 14)):
        total = stage_matrix(table, device_of, stages_of(of, device_of, devices)).sum(axis=0)
        # The last columns are submodels, which stages count by operations and the whole by groups.
        np.testing.assert_allclose(total[:-d], design_matrix(table, device_of[None])[0, :-d], atol=1e-9)
        assert total[-d:].sum() == len(running_submodels(of.graph, device_of))


@pytest.mark.parametrize("paying", [0, 1, 2])
def test_the_gpu_pays_for_both_transfers(paying: int) -> None:
    of = problem(chain(["Relu", "Sin", "Add"]))
    table, device_of = costs_of(of), np.array([0, 1, 0])
    matrix = stage_matrix(table, device_of, stages_of(of, device_of))
    own_ms = matrix @ parameters(table) - table.group_ms[range(3), device_of] - table.submodel_ms[device_of]
    both_ms = table.transfer_ms()[0, 0, 1] + table.transfer_ms()[1, 1, 0]
    np.testing.assert_allclose(own_ms[paying], both_ms if paying == 1 else 0, atol=1e-9)


def test_who_pays() -> None:
    np.testing.assert_array_equal(reader_shares((CPU, GPU, NPU)), [[1, 1, 1], [0, 0.5, 0.5], [0, 0.5, 0.5]])


def test_a_group_in_two_submodels_makes_them_one_stage() -> None:
    graph = diamond()  # 0 feeds 1-2 and 3-4, which 5 joins
    groups = Partition(np.array([0, 1, 2, 3, 2, 4]))  # the ends of the branches are a group
    of = problem(graph, partition=groups)
    found = stages_of(of, np.array([0, 0, 1, 0, 0]))
    assert len(found.stage_of_submodel) == 4
    assert len(found.n_submodels) == 3
    times = found.summed(np.array([1.0, 10.0, 100.0, 1000.0]))
    assert sorted(times.tolist()) == [1.0, 110.0, 1000.0]
