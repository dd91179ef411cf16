from __future__ import annotations

import pytest

from ovplace import plugins
from ovplace.testing.feature_contract import FeatureContract


class TestEveryFeature(FeatureContract):
    @pytest.fixture(params=plugins.names("features"))
    def plugin(self, request):
        return plugins.load("features", request.param)
