"""The probabilities that assignments make placements fail."""

from __future__ import annotations

import numpy as np
import pytest

from ovplace.cost.calibration.failure_model import failure_probabilities

GROUPS = 20


def tried(bad: set[tuple[int, int]], count: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return random choices of two devices, and which ran: those without a bad pair of group and device."""
    choices = np.random.default_rng(seed).integers(0, 2, (count, GROUPS))
    return choices, np.array([not any(choice[g] == d for g, d in bad) for choice in choices])


def test_nothing_failed_and_no_assignment_is_suspected() -> None:
    choices, ran = tried(set(), 5)
    assert not failure_probabilities(choices, ran, 2).any()


def test_nothing_was_tried() -> None:
    assert not failure_probabilities(np.empty((0, GROUPS), dtype=np.int64), np.empty(0, dtype=bool), 3).any()


@pytest.mark.parametrize("bad", [{(3, 1)}, {(3, 1), (7, 0)}, {(0, 0), (1, 0), (2, 1)}])
def test_the_failing_assignments_have_the_highest_probabilities(bad: set[tuple[int, int]]) -> None:
    found = failure_probabilities(*tried(bad, 60), 2)
    order = np.argsort(-found, axis=None)
    assert {divmod(int(pair), 2) for pair in order[: len(bad)]} == bad
    assert found.flat[order[len(bad) - 1]] > 2 * found.flat[order[len(bad)]]


def test_what_ran_and_what_was_not_tried_is_not_suspected() -> None:
    choices = np.array([[0, 0, 1], [1, 0, 1]])
    found = failure_probabilities(choices, np.array([True, False]), 3)
    assert found[1, 0] == found[2, 1] == 0  # were in the one that ran
    assert not found[:, 2].any()
    assert found[0, 1] > 0.5  # nobody else can have done it
    assert np.count_nonzero(found) == 1


def test_a_failure_without_suspects_is_chance() -> None:
    choices = np.array([[0, 1], [0, 1]])
    assert not failure_probabilities(choices, np.array([True, False]), 2).any()


def test_a_failure_is_shared_by_its_suspects() -> None:
    found = failure_probabilities(np.ones((1, GROUPS), dtype=np.int64), np.array([False]), 2)
    assert np.ptp(found[:, 1]) == 0
    assert 0.5 < 1 - np.prod(1 - found[:, 1]) <= 1
    assert found.max() < 0.1
