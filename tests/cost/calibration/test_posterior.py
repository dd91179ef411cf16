"""Intervals of predicted latencies hold as much as they say, on simulated truth."""

from __future__ import annotations

import numpy as np
import pytest

from ovplace.cost.calibration.fit import fit
from ovplace.cost.calibration.posterior import Posterior
from ovplace.cost.evaluate.design_matrix import parameters
from ovplace.cost.evaluate.latency import latency_ms
from ovplace.graphs.op_graph import BoolArray
from ovplace.testing.graphs import layered, problem
from ovplace.testing.measurements import measured_ms, placements, profiled, true_table

QUANTILE_90 = 1.645
SEEDS = 5


def covered(count: int, noise: float, seed: int) -> tuple[BoolArray, BoolArray]:
    """Return which true and which measured latencies of 200 placements held back lie in their 90 % intervals."""
    truth = true_table(30, seed=seed)
    device_of = placements(truth, count + 200, seed)
    measured, true = measured_ms(truth, device_of, noise, seed), latency_ms(truth, device_of)
    found = Posterior.of(profiled(truth, seed), device_of[:count], measured[:count]).predict(device_of[count:])
    off = np.abs(true[count:] - found.mean_ms) <= QUANTILE_90 * found.sd_ms
    measured_off = np.abs(measured[count:] - found.mean_ms) <= QUANTILE_90 * np.hypot(found.sd_ms, found.noise_ms)
    return off, measured_off


@pytest.mark.parametrize("count", [20, 60, 200])
@pytest.mark.parametrize("noise", [0.01, 0.03])
def test_intervals_cover(count: int, noise: float) -> None:
    shares = np.mean([covered(count, noise, seed) for seed in range(SEEDS)], axis=(0, 2))
    assert (shares > 0.80).all()
    assert (shares < 0.985).all()


def test_the_mean_is_that_of_the_fit() -> None:
    truth = true_table(12)
    profile, seen = profiled(truth), placements(truth, 30, seed=0)
    latency = measured_ms(truth, seen)
    latency[[3, 8]] = np.inf
    posterior = Posterior.of(profile, seen, latency)
    fitted = fit(profile, seen, latency).table
    np.testing.assert_allclose(parameters(posterior.table), parameters(fitted), rtol=1e-12)
    np.testing.assert_allclose(posterior.predict(seen).mean_ms, latency_ms(fitted, seen), rtol=1e-12)


def test_what_was_measured_is_surer_than_what_was_not() -> None:
    truth = true_table()
    device_of = placements(truth, 80, seed=1)
    posterior = Posterior.of(profiled(truth), device_of[:40], measured_ms(truth, device_of[:40]))
    found = posterior.predict(device_of)
    relative = found.sd_ms / found.mean_ms
    assert relative[:40].mean() < 0.8 * relative[40:].mean()


def test_more_trials_are_surer() -> None:
    truth = true_table()
    device_of, apart = placements(truth, 160, seed=2), placements(truth, 50, seed=3)
    measured = measured_ms(truth, device_of)
    spreads = [
        Posterior.of(profiled(truth), device_of[:count], measured[:count]).predict(apart).sd_ms.mean()
        for count in (0, 10, 40, 160)
    ]
    assert spreads == sorted(spreads, reverse=True)


def test_where_a_group_cannot_run_the_mean_is_infinite() -> None:
    supported = np.ones((8, 2), dtype=bool)
    supported[2, 1] = False
    table = problem(layered(8, 0), supported=supported).costs
    assert table is not None
    found = Posterior.of(table, np.zeros((0, 8), dtype=np.int64), np.zeros(0)).predict(table.uniform_choices())
    assert np.isfinite(found.mean_ms).tolist() == [True, False]
    assert found.sd_ms[0] > 0
    assert found.sd_ms[1] == found.noise_ms[1] == 0
