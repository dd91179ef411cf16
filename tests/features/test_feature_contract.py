from __future__ import annotations

import pytest

from ovplace.plugins import registry
from ovplace.testing.contracts.feature import FeatureContract


class TestEveryFeature(FeatureContract):
    @pytest.fixture(params=registry.names("features"))
    def plugin(self, request):
        return registry.load("features", request.param)
