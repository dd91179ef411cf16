"""What a cost model makes of the placements of a search, against errors of its costs that are drawn."""

from __future__ import annotations

import numpy as np
import pytest

from ovplace.cost.calibration.prior import Prior
from ovplace.cost.evaluate.design_matrix import design_matrix
from ovplace.cost.evaluate.latency import latency_ms
from ovplace.search.comparison import expectation
from ovplace.search.comparison.expectation import Expectation
from ovplace.testing.measurements import placements, true_table

TABLE = true_table(8)
DEVICE_OF = placements(TABLE, 12, seed=1)
TRUE_MS = latency_ms(TABLE, DEVICE_OF)


def believed(monkeypatch, common, single, unknown, noise, ratios=TRUE_MS):
    """Return what is believed under one assumption on the errors."""
    monkeypatch.setattr(expectation, "_COMMON", (common,))
    monkeypatch.setattr(expectation, "_SINGLE", (single,))
    monkeypatch.setattr(expectation, "_UNKNOWN", (unknown,))
    return Expectation(ratios, TABLE, DEVICE_OF).belief(noise)


def expected_before(belief, noise):
    """Return mean and covariance of what was expected before each placement was measured, `TRUE_MS` of it."""
    precision = np.linalg.inv(belief.covariance)
    prior = np.linalg.inv(precision - np.eye(len(precision)) / noise**2)
    return prior @ (precision @ belief.mean - np.log(TRUE_MS) / noise**2), prior


def spread(covariance):
    """Return the variance of the difference of each two placements: a factor on all of them is free."""
    variance = np.diag(covariance)
    return variance[:, None] + variance - 2 * covariance


@pytest.mark.parametrize(("common", "single"), [(0.0, 0.0), (0.02, 0.0), (0.0, 0.02), (0.02, 0.03)])
def test_latencies_vary_as_costs_do_of_which_kinds_and_single_ones_are_wrong(monkeypatch, common, single):
    unknown, noise = 0.01, 0.05
    mean, covariance = expected_before(believed(monkeypatch, common, single, unknown, noise), noise)
    np.testing.assert_allclose(mean, np.log(TRUE_MS), atol=1e-6)

    prior, rng = Prior.of(TABLE), np.random.default_rng(0)
    of_kinds = common * rng.standard_normal((20_000, prior.kinds.shape[1])) @ prior.kinds.T
    of_each = single * rng.standard_normal((20_000, len(prior.size))) * prior.size
    drawn = np.log((prior.mean + of_kinds + of_each) @ design_matrix(TABLE, DEVICE_OF).T)
    between = ~np.eye(len(mean), dtype=bool)
    np.testing.assert_allclose(
        spread(covariance)[between], (spread(np.cov(drawn.T)) + 2 * unknown**2)[between], rtol=0.06, atol=1e-6
    )


def test_a_factor_on_all_latencies_is_free(monkeypatch):
    found, larger = (believed(monkeypatch, 0.0, 0.0, 0.01, 0.03, factor * TRUE_MS) for factor in (1, 1e4))
    np.testing.assert_allclose(larger.mean - found.mean, np.log(1e4), atol=1e-5)


def test_the_errors_under_which_the_measurements_are_the_most_likely_are_assumed(monkeypatch):
    """Where the model is exact, what is measured is noise, and where it is not, the measurements are believed."""
    noise = 0.1 * np.random.default_rng(1).standard_normal(len(TRUE_MS))
    luck = Expectation(TRUE_MS * np.exp(noise), TABLE, DEVICE_OF).belief(0.1)
    other = np.random.default_rng(2).permutation(TRUE_MS)
    speed = Expectation(other, TABLE, DEVICE_OF).belief(0.01)
    off = luck.mean - np.log(TRUE_MS)
    assert (off - off.mean()).std() < 0.5 * noise.std()
    np.testing.assert_allclose(speed.mean, np.log(other), atol=0.02)
