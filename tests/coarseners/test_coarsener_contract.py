from __future__ import annotations

import pytest

from ovplace.plugins import registry
from ovplace.testing.contracts.coarsener import CoarsenerContract


class TestEveryCoarsener(CoarsenerContract):
    @pytest.fixture(params=registry.names("coarseners"))
    def plugin(self, request):
        return registry.load("coarseners", request.param)
