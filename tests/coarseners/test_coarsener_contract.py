from __future__ import annotations

import pytest

from ovplace import plugins
from ovplace.testing.coarsener_contract import CoarsenerContract


class TestEveryCoarsener(CoarsenerContract):
    @pytest.fixture(params=plugins.names("coarseners"))
    def plugin(self, request):
        return plugins.load("coarseners", request.param)
