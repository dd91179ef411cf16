from __future__ import annotations

import numpy as np
import pytest

from ovplace.placers._base.unseen import UnseenPlacements
from ovplace.testing.graphs import chain, every_placement, problem


def small(**settings):
    return problem(chain(("Add", "Sin", "Relu")), **settings)


def test_the_first_choice_not_seen_before_is_taken():
    of = small()
    unseen = UnseenPlacements(of)
    choices = [np.array(choice) for choice in ([0, 1, 0], [0, 1, 0], [1, 1, 0])]
    found = [unseen.take(choices).device_of.tolist() for _ in range(2)]
    assert found == [[0, 1, 0], [1, 1, 0]]


def test_choices_are_drawn_no_further_than_needed():
    drawn = []

    def draws():
        for device in (0, 1):
            drawn.append(device)
            yield np.full(3, device)

    UnseenPlacements(small()).take(draws())
    assert drawn == [0]


@pytest.mark.parametrize("n_devices", [1, 3])
def test_the_rest_comes_in_counting_order_and_then_nothing(n_devices):
    supported = np.ones((3, n_devices), dtype=bool)
    supported[0, 1:] = False
    of = small(n_devices=n_devices, supported=supported)
    unseen = UnseenPlacements(of)
    found = []
    while (placement := unseen.take([np.zeros(3, dtype=np.int64)])) is not None:
        found.append(placement.hash)
    assert found == list(unseen.seen) == [placement.hash for placement in every_placement(of)]
    assert unseen.take([np.zeros(3, dtype=np.int64)]) is None


def test_what_was_seen_elsewhere_is_not_new():
    of = small()
    every = [placement.hash for placement in every_placement(of)]
    assert UnseenPlacements(of, every[:-1]).take([]).hash == every[-1]


def test_a_choice_that_cannot_run_is_what_it_is_lifted_to():
    supported = np.array([[True, False], [True, True], [True, True]])
    unseen = UnseenPlacements(small(supported=supported))
    assert unseen.take([np.array([1, 1, 1])]).device_of.tolist() == [0, 1, 1]
    assert unseen.take([np.array([0, 1, 1]), np.array([0, 0, 1])]).device_of.tolist() == [0, 0, 1]
