from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ovplace.core.partition import Partition
from ovplace.errors import PlacementError
from ovplace.testing.graphs import chain, diamond, every_placement, layered, problem

N = 20
GRAPH = layered(N, seed=5)


@given(st.lists(st.integers(0, 5), min_size=N, max_size=N), st.data())
def test_what_is_lifted_is_supported(labels, data):
    groups = Partition.from_labels(labels)
    supported = np.ones((N, 3), dtype=bool)
    supported[:, 0] = data.draw(st.lists(st.booleans(), min_size=N, max_size=N))
    of = problem(GRAPH, 3, partition=groups, supported=supported)
    for group, members in enumerate(groups.members):
        np.testing.assert_array_equal(of.allowed[group], supported[members].all(axis=0))
    choice = data.draw(st.lists(st.integers(0, 2), min_size=groups.n_groups, max_size=groups.n_groups))
    placement = of.lift(choice)
    assert supported[np.arange(N), placement.device_of].all()
    runs = of.allowed[np.arange(of.n_groups), choice]
    np.testing.assert_array_equal(of.lower(placement)[runs], np.array(choice)[runs])


@pytest.mark.parametrize("device", range(3))
def test_uniform_choices_are_of_one_device(device):
    of = problem(GRAPH, 3)
    assert of.lift(of.uniform(device)).used == (of.device_names[device],)
    np.testing.assert_array_equal(of.uniform(device), of.costs.uniform(device))
    np.testing.assert_array_equal(of.uniform(device), of.costs.uniform_choices()[device])


@given(st.lists(st.integers(0, 7), min_size=N, max_size=N))
def test_the_group_order_respects_every_edge_that_is_on_no_cycle(labels):
    of = problem(GRAPH, partition=Partition.from_labels(labels))
    assert sorted(of.group_order.tolist()) == list(range(of.n_groups))
    if of.quotient.is_acyclic:
        position = np.argsort(of.group_order)
        source, target = of.quotient.edges
        assert (position[source] < position[target]).all()


@given(st.lists(st.lists(st.booleans(), min_size=3, max_size=3).filter(any), min_size=1, max_size=4))
def test_divisible_is_what_has_a_placement_on_several_devices(rows):
    of = problem(chain(["Sin"] * len(rows)), 3, supported=np.array(rows))
    options = product(*(np.flatnonzero(row).tolist() for row in rows))
    assert of.is_divisible == any(len(set(choice)) > 1 for choice in options)


def test_placements_are_counted_by_the_devices_that_run_each_group():
    supported = np.array([[True, True, True], [True, False, True], [False, False, True]])
    of = problem(chain(["Sin"] * 3), 3, supported=supported)
    assert of.n_placements == len({placement.hash for placement in every_placement(of)}) == 6


def test_a_group_that_runs_nowhere_is_named():
    supported = np.ones((6, 2), dtype=bool)
    supported[1, 0] = supported[2, 1] = False
    assert problem(diamond(), supported=supported).lift([0] * 6).device_of.tolist() == [0, 1, 0, 0, 0, 0]
    with pytest.raises(PlacementError, match=r"no device of CPU_0, CPU_1 .*'Sin_1' \(Sin\)"):
        problem(diamond(), supported=supported, partition=Partition(np.array([0, 1, 1, 2, 3, 4])))


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"supported": np.ones((2, 2), dtype=bool)}, "supported of shape"),
        ({"features": np.ones((2, 2))}, "feature rows"),
        ({"partition": Partition.identity(2)}, "partition of 3"),
    ],
)
def test_shapes_have_to_agree(wrong, words):
    with pytest.raises(ValueError, match=words):
        replace(problem(chain(("Sin", "Add", "Relu"))), **wrong)
