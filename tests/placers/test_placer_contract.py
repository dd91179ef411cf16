from __future__ import annotations

import pytest

from ovplace import plugins
from ovplace.testing.placer_contract import PlacerContract


class TestEveryPlacer(PlacerContract):
    @pytest.fixture(params=plugins.names("placers"))
    def plugin(self, request):
        return plugins.load("placers", request.param)
