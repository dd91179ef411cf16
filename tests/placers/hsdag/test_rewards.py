"""What the steps of a buffer are learned from."""

from __future__ import annotations

from math import inf, log

import numpy as np
import pytest

from ovplace.placers.hsdag.rewards import BASELINE_RATE, normalised_advantages, step_rewards, top_fraction_weights


def test_rewards_are_as_their_formulas_say():
    np.testing.assert_allclose(step_rewards("inverse", [0.5, 2.0, inf], max_log_ratio=3.0), [2.0, 0.5, -1.0])
    np.testing.assert_allclose(
        step_rewards("log", [0.5, 2.0, inf], max_log_ratio=3.0), [log(2), -log(2), -3.0 - log(2)]
    )


@pytest.mark.parametrize("kind", ["inverse", "log"])
def test_faster_is_better_and_a_failure_is_worst(kind):
    ratios = [0.3, 0.9, 1.0, 4.0, inf]
    assert (np.diff(step_rewards(kind, ratios, max_log_ratio=log(4.0))) < 0).all()


@pytest.mark.parametrize("kind", ["inverse", "log"])
def test_advantages_of_the_first_buffer_are_centred_and_scaled(kind):
    found = step_rewards(kind, [0.5, 0.8, 1.0, 3.0], max_log_ratio=log(3.0))
    advantage, mean, variance = normalised_advantages(found, None, 0.0)
    assert advantage.mean() == pytest.approx(0.0, abs=1e-12)
    assert advantage.std() == pytest.approx(1.0, abs=0.01)
    assert [mean, variance] == pytest.approx([found.mean(), found.var()])


def test_the_baseline_follows_slowly_what_is_usual():
    _, mean, variance = normalised_advantages(np.array([1.0, 1.0]), 0.0, 4.0)
    assert mean == pytest.approx(BASELINE_RATE)
    assert variance == pytest.approx(4.0 * (1 - BASELINE_RATE))


def test_all_alike_and_usual_teaches_nothing():
    advantage, _, _ = normalised_advantages(np.full(5, 0.7), 0.7, 0.0)
    np.testing.assert_array_equal(advantage, 0.0)


def test_advantages_of_single_steps_are_in_deviations_from_the_baseline():
    mean, variance, found = None, 0.0, []
    for reward in np.random.default_rng(0).normal(5.0, 1.0, 400):
        advantage, mean, variance = normalised_advantages(np.array([reward]), mean, variance)
        found.append(float(advantage[0]))
    assert np.std(found[50:]) == pytest.approx(1.0, abs=0.2)


@pytest.mark.parametrize("first", [[0.7], [0.1] * 10], ids=["a single step", "equal steps"])
def test_advantages_after_equal_rewards_are_in_deviations_too(first):
    advantage, mean, variance = normalised_advantages(np.array(first), None, 0.0)
    np.testing.assert_allclose(advantage, 0.0, atol=1e-9)
    advantage, mean, variance = normalised_advantages(np.array([1.7, 1.7]), mean, variance)
    np.testing.assert_allclose(advantage, 1.0, atol=0.01)
    assert abs(normalised_advantages(np.array([0.0, 1.0]), mean, variance)[0]).max() < 3.0


def test_the_top_fraction_keeps_the_best_and_at_least_one():
    np.testing.assert_array_equal(top_fraction_weights([1.0, 3.0, 2.0, 4.0], 0.5), [1, 0, 1, 0])
    np.testing.assert_array_equal(top_fraction_weights([1.0, 3.0], 0.1), [1, 0])


def test_the_top_fraction_holds_no_failure():
    np.testing.assert_array_equal(top_fraction_weights([inf, 2.0, inf, inf], 0.5), [0, 1, 0, 0])
    np.testing.assert_array_equal(top_fraction_weights([inf, inf], 0.5), [0, 0])
