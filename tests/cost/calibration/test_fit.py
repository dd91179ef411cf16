from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ovplace.core.cost_table import CostTable
from ovplace.cost.calibration.agreement import Agreement, agreement
from ovplace.cost.calibration.fit import fit
from ovplace.cost.evaluate.design_matrix import design_matrix, parameters, with_parameters
from ovplace.cost.evaluate.latency import latency_ms
from ovplace.seeds import generator
from ovplace.testing.graphs import chain, layered, problem
from ovplace.testing.measurements import measured_ms, placements, profiled, true_table


def judged(table: CostTable, truth: CostTable) -> Agreement:
    apart = placements(truth, 200, seed=99)
    return agreement(latency_ms(table, apart), latency_ms(truth, apart))


@given(n=st.integers(2, 14), devices=st.integers(1, 4), seed=st.integers(0, 999))
@settings(max_examples=60)
def test_terms_times_parameters_is_the_full_model(n: int, devices: int, seed: int) -> None:
    table = true_table(n, devices, seed)
    device_of = generator(seed, "test").integers(devices, size=(7, n))
    predicted = design_matrix(table, device_of) @ parameters(table)
    np.testing.assert_allclose(predicted, latency_ms(table, device_of), rtol=1e-12)


def test_every_parameter_counts() -> None:
    table = true_table(8)
    device_of = placements(table, 60, seed=0)
    seen = design_matrix(table, device_of)
    for i in np.flatnonzero(seen.any(axis=0)):
        vector = parameters(table)
        vector[i] += 1.0
        changed = latency_ms(with_parameters(table, vector), device_of)
        np.testing.assert_allclose(changed - latency_ms(table, device_of), seen[:, i], atol=1e-6)


def test_parameters_come_back() -> None:
    supported = np.ones((6, 2), dtype=bool)
    supported[2, 1] = False
    table = problem(chain(["Relu"] * 6), supported=supported).costs
    assert table is not None
    vector = parameters(table)
    assert np.isfinite(vector).all()
    back = with_parameters(table, 2 * vector)
    np.testing.assert_allclose(parameters(back), 2 * vector)
    assert np.isinf(back.group_ms[2, 1])
    assert np.isinf(back.group_ms).sum() == 1
    np.testing.assert_array_equal(np.diag(back.latency_ms), np.diag(table.latency_ms))
    with pytest.raises(ValueError, match="parameters"):
        with_parameters(table, vector[:-1])


@pytest.mark.parametrize("seed", range(4))
def test_fitting_a_poor_profile_predicts_placements_it_has_not_seen(seed: int) -> None:
    truth = true_table(seed=seed)
    profile, seen = profiled(truth, seed), placements(truth, 50, seed)
    found = fit(profile, seen, measured_ms(truth, seen, seed=seed))
    before, after = judged(profile, truth), judged(found.table, truth)
    assert after.mape < 0.05 < 0.3 < before.mape
    assert after.spearman > before.spearman + 0.02
    assert found.n_trials == 50
    assert found.before is not None
    assert found.before.mape > 0.3
    assert found.held_back is not None
    assert found.held_back.n == 50
    assert abs(found.held_back.mape - after.mape) < 0.03


def test_missing_savings_are_learned() -> None:
    truth = true_table(seed=1)
    truth = replace(truth, saving_ms=3 * truth.saving_ms)
    profile, seen = replace(truth, saving_ms=np.zeros_like(truth.saving_ms)), placements(truth, 80, seed=1)
    found = fit(profile, seen, measured_ms(truth, seen, noise=0.01)).table
    assert judged(found, truth).mape < 0.5 * judged(profile, truth).mape
    assert found.saving_ms.sum() > 0


def test_exact_measurements_are_reproduced() -> None:
    truth = true_table(10)
    seen = placements(truth, 300, seed=2)
    found = fit(profiled(truth), seen, latency_ms(truth, seen)).table
    assert judged(found, truth).mape < 0.01
    assert judged(found, truth).spearman > 0.995


def test_a_right_profile_stays() -> None:
    truth = true_table()
    seen = placements(truth, 40, seed=3)
    assert judged(fit(truth, seen, measured_ms(truth, seen)).table, truth).mape < 0.02


@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("seed", range(5))
def test_few_trials_do_no_harm(count: int, seed: int) -> None:
    truth = true_table(seed=seed)
    profile = replace(profiled(truth, seed), group_ms=truth.group_ms)
    seen = placements(truth, count, seed)
    before = judged(profile, truth)
    after = judged(fit(profile, seen, measured_ms(truth, seen, seed=seed)).table, truth)
    assert after.spearman > before.spearman - 0.03
    assert after.mape < before.mape + 0.05


def test_one_trial_teaches_the_overall_factor() -> None:
    truth = true_table()
    profile = with_parameters(truth, 5 * parameters(truth))
    seen = placements(truth, 1, seed=5)
    found = fit(profile, seen, latency_ms(truth, seen))
    assert judged(found.table, truth).mape < 0.02
    assert found.held_back is None


def test_outliers_hardly_matter() -> None:
    truth = true_table()
    profile, seen = profiled(truth), placements(truth, 60, seed=6)
    latency = measured_ms(truth, seen)
    latency[[7, 23, 41]] *= 4
    assert judged(fit(profile, seen, latency).table, truth).mape < 0.08


def test_no_parameter_turns_negative() -> None:
    truth = true_table(seed=7)
    free = replace(truth, latency_ms=0 * truth.latency_ms, ms_per_byte=0 * truth.ms_per_byte)
    seen = placements(truth, 60, seed=7)
    noisy = measured_ms(free, seen, noise=0.3)
    found = fit(truth, seen, noisy).table  # a table refuses negative numbers
    assert parameters(found).min() == 0


def test_failures_are_left_out() -> None:
    supported = np.ones((24, 2), dtype=bool)
    supported[3, 0] = False
    truth = problem(layered(24, 0), supported=supported).costs
    assert truth is not None
    seen = placements(truth, 60, seed=8)
    latency = measured_ms(truth, seen)  # infinite where the table says so
    works = np.isfinite(latency)
    latency[np.flatnonzero(works)[::5]] = np.inf
    kept = np.isfinite(latency)
    found, without = fit(truth, seen, latency), fit(truth, seen[kept], latency[kept])
    assert 0 < kept.sum() < works.sum() < 60
    assert found.n_trials == kept.sum()
    np.testing.assert_array_equal(parameters(found.table), parameters(without.table))


def test_one_trial_corrects_the_costs_but_shows_no_agreement() -> None:
    truth = true_table()
    found = fit(truth, placements(truth, 1, seed=0), np.ones(1))
    assert (found.n_trials, found.held_back, found.before) == (1, None, None)
    assert not np.array_equal(parameters(found.table), parameters(truth))


def test_without_trials_the_profile_stays() -> None:
    truth = true_table()
    seen = placements(truth, 3, seed=0)
    for device_of, latency in ((seen[:0], np.empty(0)), (seen, np.full(3, np.inf))):
        found = fit(truth, device_of, latency)
        assert (found.n_trials, found.held_back, found.before) == (0, None, None)
        np.testing.assert_array_equal(parameters(found.table), parameters(truth))


def test_a_placement_where_a_group_cannot_run_teaches_nothing() -> None:
    truth = true_table()
    impossible = np.array(truth.group_ms)
    impossible[0, 1] = np.inf
    seen = placements(truth, 20, seed=9)
    found = fit(replace(truth, group_ms=impossible), seen, measured_ms(truth, seen))
    assert found.n_trials == (seen[:, 0] == 0).sum()


def test_one_device_and_one_group() -> None:
    alone = problem(chain(["Relu"]), 1).costs
    assert alone is not None
    found = fit(alone, np.zeros((6, 1), dtype=np.int64), 3 * np.full(6, latency_ms(alone, np.zeros((1, 1), int))[0]))
    np.testing.assert_allclose(
        latency_ms(found.table, np.zeros((1, 1), int)), 3 * latency_ms(alone, np.zeros((1, 1), int)), rtol=0.01
    )
    assert found.held_back is not None
    assert found.held_back.spearman == 0


def test_agreement_of_ranks_and_sizes() -> None:
    same = agreement(np.array([1.1, 2.2, 3.3]), np.array([1.0, 2.0, 3.0]))
    assert (round(same.spearman, 9), round(same.mape, 9), same.n) == (1.0, 0.1, 3)
    assert agreement(np.array([3.0, 2.0, 1.0]), np.array([1.0, 2.0, 3.0])).spearman == pytest.approx(-1)
    tied = agreement(np.array([1.0, 1.0, 2.0]), np.array([1.0, 2.0, 3.0]))
    assert tied.spearman == pytest.approx(np.sqrt(3) / 2)
