"""What is believed of latencies, against the same distributions worked out in another way."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from ovplace.search.comparison.belief import Belief
from ovplace.search.comparison.expectation import Expectation, Shape


@pytest.fixture
def prior():
    factor = np.random.default_rng(0).normal(size=(4, 4))
    return Belief(np.array([0.1, -0.2, 0.3, 0.0]), factor @ factor.T)


def test_measurements_sharpen_it_as_precisions_add_up(prior):
    which, values = np.array([2, 0, 2]), np.array([0.5, -0.5, 0.7])
    noise = np.diag([0.1, 0.2, 0.3]) + 0.05
    found = prior.given(which, values, noise)
    design = np.eye(4)[which]
    weight = design.T @ np.linalg.inv(noise)
    covariance = np.linalg.inv(np.linalg.inv(prior.covariance) + weight @ design)
    np.testing.assert_allclose(found.covariance, covariance)
    np.testing.assert_allclose(
        found.mean, covariance @ (np.linalg.inv(prior.covariance) @ prior.mean + weight @ values)
    )


def test_draws_have_its_mean_and_covariance(prior):
    drawn = prior.draws(np.random.default_rng(1), 20_000)
    assert drawn.shape == (20_000, 4)
    np.testing.assert_allclose(drawn.mean(axis=0), prior.mean, atol=0.06)
    np.testing.assert_allclose(np.cov(drawn.T), prior.covariance, atol=0.03 * prior.covariance.max())


def test_what_is_certain_is_drawn_as_it_is():
    mean = np.array([1.0, 2.0])
    drawn = Belief(mean, np.zeros((2, 2))).draws(np.random.default_rng(2), 3)
    np.testing.assert_allclose(drawn, np.tile(mean, (3, 1)), atol=1e-4)


def test_equal_placements_are_drawn_equal():
    drawn = Belief(np.zeros(2), np.ones((2, 2))).draws(np.random.default_rng(3), 100)
    np.testing.assert_allclose(drawn[:, 0], drawn[:, 1], atol=1e-4)
    assert drawn.std() > 0.5


def test_the_likelihood_of_a_shape_is_that_of_a_gaussian(prior):
    off = np.array([0.5, -1.0, 0.2, 0.1])
    for counts in (np.ones(4, dtype=bool), np.array([True, False, True, True])):
        shape, some = Shape.of(prior.covariance, off, counts), prior.covariance[np.ix_(counts, counts)]
        for variance in (0.01, 0.5):
            n = len(some)
            expected = multivariate_normal(np.zeros(n), some + variance * np.eye(n)).logpdf(off[counts])
            assert shape.log_likelihood(variance) == pytest.approx(expected + n / 2 * np.log(2 * np.pi))


@pytest.mark.parametrize("unknown", [0.005, 0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64])
def test_without_a_model_placements_differ_as_much_as_the_measurements_say(unknown):
    """A deviation is believed by the share of the placements' variance in that of the measurements."""
    standard = np.random.default_rng(4).normal(size=60)
    standard = (standard - standard.mean()) / standard.std()
    values = 0.3 + np.sqrt(2) * unknown * standard
    found = Expectation(np.exp(values)).belief(noise=unknown)
    np.testing.assert_allclose(found.mean - found.mean.mean(), unknown / np.sqrt(2) * standard, atol=1e-4)
    assert found.mean.mean() == pytest.approx(0.3, abs=0.03)
