from __future__ import annotations

import pytest

from ovplace.plugins import registry
from ovplace.testing.placer_contract import PlacerContract


class TestEveryPlacer(PlacerContract):
    @pytest.fixture(params=registry.names("placers"))
    def plugin(self, request):
        return registry.load("placers", request.param)
