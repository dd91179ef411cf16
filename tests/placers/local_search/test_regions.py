"""Regions of a model that local search moves as one."""

from __future__ import annotations

from ovplace.placers.local_search.regions import groups_by_kind
from ovplace.testing.graphs import chain, problem


def test_random_numbers_are_no_weights():
    types = ("Constant", "RandomUniform", "Relu", "Sin")
    kinds = [types[groups[0]] for groups in groups_by_kind(problem(chain(types)))]
    assert kinds == ["RandomUniform", "Relu", "Constant", "Sin"]
