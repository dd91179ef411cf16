"""The benchmark of the latency ratios of a search, where the true ratios are known."""

from __future__ import annotations

import importlib

import numpy as np
import pytest

from ovplace.core.measurement import Measurement, Trial
from ovplace.core.placement import Placement
from ovplace.errors import OvplaceError

ratio_errors = importlib.import_module("benchmarks.stages.ratio_errors")
PLACEMENT = Placement(np.zeros(2, dtype=np.int64), ("CPU", "GPU"))


def found(references_ms, true):
    """Return the differences of trials at half their reference's latency, whose usual latency is 4 ms."""
    trials = [Trial(0, PLACEMENT, Measurement((ms / 2,), (1,)), 0.5, "test") for ms in references_ms]
    return ratio_errors.differences(trials, 4.0, {PLACEMENT.hash: np.log(true)})


def test_errors_are_counted_from_the_placements_whose_reference_took_what_is_usual():
    off, error = found([4.0, 4.0, 8.0], 0.25)
    np.testing.assert_allclose(off, [0, 0, np.log(2)])
    np.testing.assert_allclose(error, 0)


def test_a_search_that_was_disturbed_throughout_has_errors_too():
    np.testing.assert_allclose(found([8.0, 9.0], 0.5)[1], 0)


def test_placements_that_cannot_be_timed_again_are_an_error():
    with pytest.raises(OvplaceError, match="none of a run's placements could be timed again"):
        found([4.0], np.inf)
