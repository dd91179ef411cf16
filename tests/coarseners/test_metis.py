"""The coarsener `metis`: what METIS cannot take is refused with the settings."""

import pytest

from ovplace.errors import ConfigError
from ovplace.plugins import registry


@pytest.mark.parametrize("setting", [{"seed": 2**63}, {"seed": -(2**63) - 1}, {"groups": 0}])
def test_numbers_that_metis_cannot_take_are_refused(setting):
    metis = registry.load("coarseners", "metis")
    metis.config({"seed": 2**63 - 1})
    with pytest.raises(ConfigError, match=r"bad value in 'coarsener': .* must"):
        metis.config(setting)
