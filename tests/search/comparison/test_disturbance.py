"""What is made of measurements beside which the reference took another time than usual."""

from __future__ import annotations

import numpy as np
import pytest

from ovplace.core.measurement import MACHINE, Measurement, Trial
from ovplace.core.placement import Placement
from ovplace.search.comparison.disturbance import MOST, SHARE, disturbances, error_of, usual_ms

PLACEMENT = Placement(np.zeros(2, dtype=np.int64), ("CPU", "GPU"))


def trial(latency_ms, ratio, machine=""):
    facts = {MACHINE: machine} if machine else {}
    return Trial(0, PLACEMENT, Measurement((latency_ms,), (1,), facts=facts), ratio, "test")


def test_only_what_was_beside_an_unusual_reference_is_in_doubt():
    trials = [trial(2.0, 0.5), trial(3.0, 0.75), trial(2.0, 0.4), trial(4.0, 1.0)]
    assert usual_ms(trials) == 4.0
    np.testing.assert_allclose(disturbances(trials), [0, 0, SHARE * np.log(1.25), 0])


def test_each_machine_has_a_usual_time_of_its_own():
    trials = [trial(2.0, 0.5, "slow") for _ in range(3)] + [trial(1.0, 0.5, "fast") for _ in range(3)]
    assert not disturbances(trials).any()
    assert np.isnan(usual_ms(trials)), "heats do not tell on which machine they are"
    assert usual_ms(trials[:3]) == 4.0


@pytest.mark.parametrize(("off", "error"), [(0.1, 0.0), (-0.1, 0.0), (0.2, 0.14), (-0.2, 0.14), (3.0, MOST)])
def test_the_error_grows_with_the_difference_up_to_a_limit(off, error):
    assert error_of(np.array([off]))[0] == pytest.approx(error)
