"""Kept profiles and costs that cannot be are found out anew."""

from __future__ import annotations

import pytest

from ovplace.profiling.links import CUTS
from ovplace.profiling.obtain import stored_costs
from ovplace.profiling.timed_parts import TimedParts
from tests.profiling.profiles import (
    edited,
    measurer,
    obtain,
)


def in_units_with_a_gap(kept):
    kept["unit_of"] = [unit + (unit > 0) for unit in kept["unit_of"]]


def of_fewer_groups(kept):
    kept["unit_of"] = kept["unit_of"][1:]


def of_a_unit_that_is_not_there(kept):
    kept["times"][0][0] = [999]


def of_a_device_that_is_not_there(kept):
    kept["times"][0][1] = 2


def with_a_time_of_zero(kept):
    kept["times"][0][2] = [0.0, 0.0, 0.0]


def with_tensors_between_three_devices(kept):
    kept["splits"][0][3] = [[0, 1, 0], [0, 0, 0], [0, 0, 0]]


def with_a_size_that_no_tensor_has(kept):
    kept["splits"][0][4] = 10**30


def with_a_piece_on_a_device_that_is_not_there(kept):
    kept["alone"][0][0] = -1


def with_more_cuts_than_there_are(kept):
    kept["cuts"] = len(CUTS) + 1


@pytest.mark.parametrize(
    "damage",
    [
        in_units_with_a_gap,
        of_fewer_groups,
        of_a_unit_that_is_not_there,
        of_a_device_that_is_not_there,
        with_a_time_of_zero,
        with_tensors_between_three_devices,
        with_a_size_that_no_tensor_has,
        with_a_piece_on_a_device_that_is_not_there,
        with_more_cuts_than_there_are,
    ],
)
def test_a_profile_that_cannot_be_is_none(tmp_path, store, open_links, cache, damage):
    of = measurer(tmp_path, store)
    obtain(of, open_links)
    key = next(cache.iterdir()).stem
    assert TimedParts.find(key, of.session.problem)
    edited(cache, damage)
    assert TimedParts.find(key, of.session.problem) is None


def with_an_edge_to_nowhere(costs):
    costs["edges"][1][0] = 99999


def with_an_edge_from_nowhere(costs):
    costs["edges"][0][0] = -1


def with_a_reader_that_is_not_there(costs):
    costs["traffic"]["readers"][0] = 99999


def with_a_writer_that_is_not_there(costs):
    costs["traffic"]["source"][0] = 99999


def with_a_tensor_along_no_edge(costs):
    costs["traffic"]["readers"][0] = costs["traffic"]["source"][0]


@pytest.mark.parametrize(
    "damage",
    [
        with_an_edge_to_nowhere,
        with_an_edge_from_nowhere,
        with_a_reader_that_is_not_there,
        with_a_writer_that_is_not_there,
        with_a_tensor_along_no_edge,
    ],
)
def test_damaged_costs_are_found_out_anew(tmp_path, store, open_links, damage):
    of = measurer(tmp_path, store)
    first = obtain(of, open_links).table.to_dict()
    costs = store.get("costs")
    damage(costs)
    store.put("costs", costs)
    assert stored_costs(store) is None
    assert obtain(of, open_links).table.to_dict() == first == stored_costs(store).to_dict()
