"""Both forms of the fit are the same distribution."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import nnls

from ovplace.cost.calibration import gaussian, shrinkage
from ovplace.cost.calibration.gaussian import FromRows, FromSums, Gaussian, Information
from ovplace.cost.calibration.prior import Prior, PriorScale
from ovplace.graphs.op_graph import FloatArray, IntArray
from ovplace.testing.measurements import measured_rows, profiled, true_table

NOISE = shrinkage.NOISE**2


def variances(of: Gaussian, rows: FloatArray) -> FloatArray:
    return np.asarray((rows.T * of.covariance_times(rows.T)).sum(axis=0))


@pytest.mark.parametrize("scale", [PriorScale(1.0, 0.0, 0.0), PriorScale(1.0, 0.3, 0.1), PriorScale(1.0, 3.0, 1.0)])
@pytest.mark.parametrize("count", [5, 150])
def test_rows_and_sums_over_them_say_the_same(scale: PriorScale, count: int) -> None:
    truth = true_table(16)
    profile = profiled(truth)
    prior, rows = Prior.of(profile), measured_rows(truth, profile, count)
    noise = np.linspace(NOISE, 4 * NOISE, count)
    by_rows, by_sums = FromRows(prior, scale, rows, noise), FromSums(prior, scale, Information.of(rows, noise))
    unit = prior.size[:, None]
    np.testing.assert_allclose(by_sums.mean / unit[:, 0], by_rows.mean / unit[:, 0], atol=1e-8)
    np.testing.assert_allclose(by_sums.not_negative() / unit[:, 0], by_rows.not_negative() / unit[:, 0], atol=1e-8)
    np.testing.assert_allclose(variances(by_sums, rows), variances(by_rows, rows), atol=1e-12)
    sizes = np.diag(prior.size)
    np.testing.assert_allclose(
        by_sums.covariance_times(sizes) / unit, by_rows.covariance_times(sizes) / unit, atol=1e-9
    )


def test_parameters_that_are_not_negative_are_the_most_likely_ones() -> None:
    """Pinning and releasing all at once went in circles for some of these, or kept what pins had done to the others."""
    rng = np.random.default_rng(0)
    checked = 0
    for _ in range(500):
        n_parameters, count = rng.integers(2, 7), rng.integers(1, 8)
        mean = rng.random(n_parameters)
        size = np.maximum(3 * mean * rng.random(n_parameters), 0.05)
        scale = PriorScale(1.0, float(rng.choice([0.0, 0.3, 3.0])), float(rng.choice([0.1, 0.3, 1.0, 3.0])))
        rows = 5 * rng.integers(0, 3, (count, n_parameters)) * rng.random((count, n_parameters))
        found = FromRows(Prior(mean, size, np.stack([mean, size], axis=1)), scale, rows, np.full(count, NOISE))
        variances, vectors = np.linalg.eigh(found.covariance_times(np.eye(n_parameters)))
        if variances.min() < 1e-9 * variances.max():
            continue
        whitened = (vectors / np.sqrt(variances)).T
        _, distance = nnls(whitened, whitened @ found.mean)
        assert np.linalg.norm(whitened @ (found.not_negative() - found.mean)) <= 1.001 * max(1.0, distance)
        checked += 1
    assert checked > 400


@pytest.mark.parametrize("scale", [PriorScale(0.0, 0.3, 0.3), PriorScale(1.0, 3.0, 1.0), PriorScale(1.0, 0.0, 0.1)])
@pytest.mark.parametrize("seed", range(3))
def test_many_pins_hold_like_few(scale: PriorScale, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    truth = true_table(100)
    profile = profiled(truth)
    prior, rows = Prior.of(profile), measured_rows(truth, profile, 5)
    of = FromRows(prior, scale, rows, np.full(len(rows), NOISE))
    free = of.drawn(np.random.default_rng(seed))
    formed, held = list[int](), Gaussian._held

    def counting(of: Gaussian, free: FloatArray, pinned: IntArray) -> tuple[FloatArray, FloatArray]:
        formed.append(len(pinned))
        return held(of, free, pinned)

    monkeypatch.setattr(Gaussian, "_held", counting)
    expected, most = of.not_negative(free), max(formed)
    formed.clear()
    monkeypatch.setattr(gaussian, "_MANY", 0)
    np.testing.assert_allclose(of.not_negative(free) / prior.size, expected / prior.size, atol=1e-8)
    assert max(formed, default=0) < most


@pytest.mark.parametrize("by_sums", [False, True])
def test_draws_are_spread_as_the_distribution_is(by_sums: bool) -> None:
    truth = true_table(8)
    profile = profiled(truth)
    prior, rows = Prior.of(profile), measured_rows(truth, profile, 12)
    noise, scale = np.linspace(NOISE, 4 * NOISE, len(rows)), PriorScale(0.2, 0.3, 0.1)
    sums = Information.of(rows, noise)
    of = FromSums(prior, scale, sums) if by_sums else FromRows(prior, scale, rows, noise)
    rng, seen = np.random.default_rng(0), measured_rows(truth, profile, 60)
    drawn = np.array([seen @ of.drawn(rng) for _ in range(4000)])
    sd = np.sqrt(variances(of, seen))
    np.testing.assert_allclose((drawn.mean(axis=0) - seen @ of.mean) / sd, 0.0, atol=0.08)  # five standard errors
    np.testing.assert_allclose(drawn.std(axis=0) / sd, 1.0, atol=0.06)
    unmeasured = np.sqrt((seen.T * prior.covariance_times(seen.T, scale)).sum(axis=0))
    assert (sd[: len(rows)] < 0.2 * unmeasured[: len(rows)]).all()


def test_sums_can_be_added_taken_away_and_rescaled() -> None:
    truth = true_table(8)
    rows, noise = measured_rows(truth, truth, 20), np.full(20, NOISE)
    whole, part = Information.of(rows, noise), Information.of(rows[:8], noise[:8])
    rest = Information.of(rows[8:], noise[8:])
    for found, wanted in (
        (part + rest, whole),
        (whole - rest, part),
        (whole.over(3.0), Information.of(rows / 3.0, noise)),
    ):
        np.testing.assert_allclose(found.matrix, wanted.matrix, rtol=1e-9, atol=1e-9 * np.abs(whole.matrix).max())
        np.testing.assert_allclose(found.vector, wanted.vector, rtol=1e-9, atol=1e-9 * np.abs(whole.vector).max())
