from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ovplace.core.statistics import median_interval, percentile_interval, ratio_interval, samples_needed


def comparison(ratio, rng, rounds=4, blocks=10, between=0.03, within=0.02):
    """Return block medians of both sides with noise that differs from compilation to compilation."""
    logs = rng.normal(0, between, (2, rounds, 1)) + rng.normal(0, within, (2, rounds, blocks))
    sides = 10 * np.exp(logs)
    return list(sides[0] * ratio), list(sides[1])


def intervals(ratio, count=1500, **noise):
    rng = np.random.default_rng(7)
    return [ratio_interval(*comparison(ratio, rng, **noise)) for _ in range(count)]


@pytest.mark.parametrize("rounds", [2, 3, 4, 8])
@pytest.mark.parametrize("noise", [{}, {"between": 0.0}, {"within": 0.0}, {"between": 0.1, "within": 0.05}])
def test_the_interval_holds_the_truth_as_often_as_it_says(rounds, noise):
    found = intervals(1.0, rounds=rounds, **noise)
    assert 0.93 <= np.mean([i.low <= 1 <= i.high for i in found]) <= 0.97
    assert np.mean([i.high < 1 for i in found]) <= 0.04


def test_a_large_gain_is_seen_and_a_large_loss_too():
    assert all(i.high < 1 for i in intervals(0.75, count=300))
    assert all(i.low > 1 for i in intervals(1.33, count=300))


def test_the_check_of_the_coverage_sees_an_interval_that_ignores_the_compilations():
    rng = np.random.default_rng(0)
    pooled = [ratio_interval([*np.concatenate(a)[:, None]], [*np.concatenate(b)[:, None]]) for a, b in
              (comparison(1.0, rng) for _ in range(300))]  # fmt: skip
    assert np.mean([i.low <= 1 <= i.high for i in pooled]) < 0.8


def test_a_slow_spell_that_hits_both_sides_does_not_count():
    a, b = comparison(0.9, np.random.default_rng(1), between=0.0, within=0.001)
    spell = np.linspace(1, 3, 10)
    calm, rough = ratio_interval(a, b), ratio_interval([x * spell for x in a], [x * spell for x in b])
    assert (rough.value, rough.low, rough.high) == pytest.approx((calm.value, calm.low, calm.high))


def test_equal_figures_are_no_difference():
    same = [np.array([1.1, 1.3, 0.7])] * 3
    found = ratio_interval(same, same)
    assert (found.low, found.value, found.high) == (1.0, 1.0, 1.0)


@given(st.floats(0.1, 10), st.integers(0, 1000))
def test_swapping_the_sides_inverts_the_interval(ratio, seed):
    a, b = comparison(ratio, np.random.default_rng(seed))
    there, back = ratio_interval(a, b), ratio_interval(b, a)
    assert (1 / back.high, 1 / back.value, 1 / back.low) == pytest.approx((there.low, there.value, there.high))
    assert there.low <= there.value <= there.high


def test_one_compilation_is_refused():
    with pytest.raises(ValueError, match="at least 2"):
        ratio_interval([np.ones(3)], [np.ones(3)])


def test_the_medians_interval_holds_the_median():
    rng = np.random.default_rng(0)
    held = 0
    for _ in range(300):
        found = median_interval(rng.lognormal(0, 0.1, 30), rng, resamples=300)
        held += found.low <= 1.0 <= found.high
    assert 0.9 < held / 300 <= 1.0


@pytest.mark.parametrize("n", [1, 2, 5, 8, 101])
def test_the_medians_interval_is_that_of_resamples(n):
    rng = np.random.default_rng(n)
    samples = rng.lognormal(0, 0.1, n)
    medians = np.median(samples[rng.integers(n, size=(20_000, n))], axis=1)
    found = median_interval(samples, rng, resamples=20_000)
    assert found.value == np.median(samples)
    for end, percent in ((found.low, 2.5), (found.high, 97.5)):
        assert np.percentile(medians, percent - 0.5) <= end <= np.percentile(medians, percent + 0.5)


def test_the_medians_interval_of_a_million_samples_takes_little_memory():
    samples = np.random.default_rng(0).lognormal(0, 0.1, 10**6)
    tracemalloc.start()
    try:
        found = median_interval(samples, np.random.default_rng(1))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 16 * 2**20
    assert found.low < found.value < found.high < 1.01 * found.low


@pytest.mark.parametrize("level", [0.5, 0.9, 0.95, 0.99])
@pytest.mark.parametrize("times", [1, 3])
def test_a_percentiles_interval_holds_it_as_often_as_it_says(level, times):
    rng, truth = np.random.default_rng(5), -np.log(1 - level)
    samples = rng.exponential(size=(1500, times * samples_needed(level)))
    found = [percentile_interval(row, level) for row in samples]
    assert np.mean([i.low > truth for i in found]) <= 0.025 + 0.012
    assert np.mean([i.high < truth for i in found]) <= 0.025 + 0.012
    assert all(i.low <= i.value <= i.high for i in found)


@pytest.mark.parametrize(("level", "needed"), [(0.9, 64), (0.99, 662)])
def test_a_percentile_of_too_few_samples_is_refused(level, needed):
    assert samples_needed(level) == needed
    samples = np.arange(float(needed))
    assert percentile_interval(samples, level).high < samples[-1]  # one outlier is not the end
    with pytest.raises(ValueError, match=f"needs {needed} samples, got {needed - 1}"):
        percentile_interval(samples[1:], level)


def test_compilations_that_were_added_narrow_the_interval_by_their_number_alone():
    ones, first, added = [np.ones(1)] * 4, [np.array([x]) for x in (0.8, 1.25)], [np.array([1.0])] * 2
    short = ratio_interval(first, ones[:2])
    long = ratio_interval([*first, *added], ones, spread_of=2)
    assert np.log(long.high) == pytest.approx(np.log(short.high) / np.sqrt(2))
    with pytest.raises(ValueError, match="at least 2"):
        ratio_interval(first, ones[:2], spread_of=1)
