"""States that were written before they were bounded: a search goes on from them the same, or they are refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ovplace.errors import StoreError
from ovplace.plugins import registry
from ovplace.testing.contracts.placer import advance
from ovplace.testing.graphs import chain, problem

FOUND = json.loads((Path(__file__).parent / "data" / "states_before_logs.json").read_text(encoding="utf-8"))
"""What revision c60dea7 stored after twelve trials, without weights, and what it asked next: `min_cut` without draws,
which it made in another way."""

OF = problem(chain(("Convolution", "Add", "Sin", "MatMul") * 2), n_devices=2)


def restored(name):
    plugin = registry.load("placers", name)
    placer = plugin.factory(OF, plugin.config(FOUND[name]["settings"]))
    placer.restore(FOUND[name]["state"])
    return placer


@pytest.mark.parametrize("name", [name for name, found in FOUND.items() if found["next"] and name != "local_search"])
def test_a_search_goes_on_the_same(name):
    assert [placement.hash for placement in advance(restored(name), 6)] == FOUND[name]["next"]


@pytest.mark.parametrize("name", ["local_search", *(name for name, found in FOUND.items() if not found["next"])])
def test_other_states_are_refused(name):
    """The loop tells of any of these errors in a line."""
    with pytest.raises((StoreError, TypeError), match=r"saved by another version|unexpected keyword argument"):
        restored(name)
