"""The order in which candidates take turns."""

from __future__ import annotations

from itertools import pairwise

import pytest

from ovplace.core.turns import rotated


@pytest.mark.parametrize("count", [1, 2, 3, 5])
def test_each_item_is_at_each_place_once(count):
    turns = [rotated(range(count), turn) for turn in range(count)]
    assert all(sorted(places) == list(range(count)) for places in (*turns, *zip(*turns, strict=True)))


@pytest.mark.parametrize("count", [3, 4, 5])
def test_none_of_three_or_more_follows_itself(count):
    order = [item for turn in range(2 * count) for item in rotated(range(count), turn)]
    assert all(before != after for before, after in pairwise(order))


def test_a_negative_turn_undoes_the_turn():
    assert rotated(rotated("abcde", 7), -7) == list("abcde")


def test_nothing_takes_no_turns():
    assert rotated([], 3) == []
