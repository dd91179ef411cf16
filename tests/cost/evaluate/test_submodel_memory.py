"""Submodels are the same whether a placement was looked at before or not."""

from __future__ import annotations

import numpy as np
import pytest

from ovplace.cost.evaluate.submodels import counts as counting
from ovplace.cost.evaluate.submodels.counts import submodels_of_groups
from ovplace.cost.evaluate.submodels.precedence import precedence
from ovplace.cost.evaluate.submodels.remembered import Remembered
from ovplace.graphs.op_graph import IntArray
from ovplace.seeds import generator
from ovplace.testing.graphs import layered, problem


def test_batches_that_overlap() -> None:
    device_of = generator(0, "test").integers(2, size=(60, 25))
    for seed in range(3):  # each graph has edges of its own
        costs = problem(layered(25, seed), 2, seed).costs
        assert costs is not None
        edges = costs.edges
        first = submodels_of_groups(25, edges, device_of[:40])
        overlapping = submodels_of_groups(25, edges, device_of[20:])
        one_by_one = np.concatenate([submodels_of_groups(25, edges, row[None]) for row in device_of])
        many = submodels_of_groups(25, edges, np.tile(device_of, (20, 1)))  # too many to be remembered
        np.testing.assert_array_equal(one_by_one, many[:60])
        np.testing.assert_array_equal(first, many[:40])
        np.testing.assert_array_equal(overlapping, many[20:60])


def test_what_is_returned_may_be_changed() -> None:
    costs = problem(layered(9, 0), 2, 0).costs
    assert costs is not None
    device_of = generator(1, "test").integers(2, size=(5, 9))
    found = submodels_of_groups(9, costs.edges, device_of)
    kept = found.copy()
    found[:] = -1
    np.testing.assert_array_equal(submodels_of_groups(9, costs.edges, device_of), kept)
    assert submodels_of_groups(9, costs.edges, device_of[:0]).shape == (0, 9)


def test_another_thread_may_clear_what_is_remembered_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    costs = problem(layered(9, 0), 2, 0).costs
    assert costs is not None
    device_of = generator(2, "test").integers(2, size=(8, 9))
    submodels_of_groups(9, costs.edges, device_of[:5])
    wanted = submodels_of_groups(9, costs.edges, np.tile(device_of, (200, 1)))[:8]
    count = counting._submodels

    def counted_while_cleared(n_groups: int, edges: IntArray, some: IntArray) -> IntArray:
        precedence(n_groups, edges).placements._results.clear()
        return count(n_groups, edges, some)

    monkeypatch.setattr(counting, "_submodels", counted_while_cleared)
    np.testing.assert_array_equal(submodels_of_groups(9, costs.edges, device_of), wanted)


def test_each_key_is_found_once_until_there_are_too_many() -> None:
    asked: list[list[int]] = []

    def find(new: list[int]) -> list[str]:
        asked.append(new)
        return [f"{at}" for at in new]

    remembered = Remembered[str](2)
    assert remembered.of([b"a", b"b", b"a"], find) == ["2", "1", "2"]
    assert remembered.of([b"b", b"c"], find) == ["1", "1"]
    assert asked == [[2, 1], [1]]
    assert remembered.of([b"b"], find) == ["0"]  # three are too many
