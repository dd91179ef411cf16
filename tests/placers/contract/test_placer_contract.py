from __future__ import annotations

import pytest

from ovplace.plugins import registry
from ovplace.testing.contracts.placer import PlacerContract
from ovplace.testing.slow import slow_except

LONG = ("fc_grouper", "hierarchical", "hsdag", "milp", "min_cut", "optuna", "placeto", "seq2seq")
"""Their whole contract takes 10 to 150 seconds each."""


class TestEveryPlacer(PlacerContract):
    @pytest.fixture(params=slow_except({*registry.names("placers")} - {*LONG}, registry.names("placers")))
    def plugin(self, request):
        return registry.load("placers", request.param)


@pytest.mark.parametrize("name", LONG)
def test_valid_and_resumed(name):
    plugin, contract = registry.load("placers", name), PlacerContract()
    contract.test_placements_are_valid(plugin, "unsupported", 1)
    contract.test_resumed_equals_uninterrupted(plugin, 1, 1)
