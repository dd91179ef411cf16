"""A fit that goes on is the fit to all that was measured so far, whenever it is asked."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pytest

from ovplace.core.cost_table import CostTable
from ovplace.cost.calibration.agreement import Agreement, agreement
from ovplace.cost.calibration.equations import REPEATS, Equations, Rows
from ovplace.cost.calibration.fit import fit
from ovplace.cost.calibration.prior import PriorScale
from ovplace.cost.calibration.refit import Refit
from ovplace.cost.evaluate.design_matrix import parameters
from ovplace.cost.evaluate.latency import latency_ms
from ovplace.testing.measurements import measured_ms, placements, profiled, true_table

REFERENCE_MS = 7.0


def equations(profile: CostTable, truth: CostTable, count: int, seed: int = 0) -> list[Equations]:
    seen = placements(truth, count, seed)
    relative = measured_ms(truth, seen, seed=seed) / REFERENCE_MS
    return [
        Equations.of_whole(profile, device_of, ratio, REFERENCE_MS)
        for device_of, ratio in zip(seen, relative.tolist(), strict=True)
    ]


def refitted(profile: CostTable, told: list[Equations], ask_at: set[int] | None = None) -> CostTable:
    refit = Refit(profile)
    for number, one in enumerate(told):
        refit.add(one)
        if ask_at is None or number in ask_at:
            refit.table()
    return refit.table()


def judged(table: CostTable, truth: CostTable) -> Agreement:
    apart = placements(truth, 200, seed=99)
    return agreement(latency_ms(table, apart), latency_ms(truth, apart))


@pytest.mark.parametrize("count", [1, 8, 29, 150])  # the shrinkage is chosen for all of them
def test_it_is_the_fit_to_all(count: int) -> None:
    truth = true_table(16, seed=2)
    profile, seen = profiled(truth, 2), placements(truth, count, seed=0)
    found = refitted(profile, equations(profile, truth, count))
    wanted = fit(profile, seen, measured_ms(truth, seen)).table
    np.testing.assert_allclose(latency_ms(found, seen), latency_ms(wanted, seen), rtol=0.02)
    assert abs(judged(found, truth).mape - judged(wanted, truth).mape) < 0.01


@pytest.mark.parametrize("count", [20, 60, 140])
def test_it_does_not_matter_when_it_was_asked(count: int) -> None:
    truth = true_table(10, seed=3)
    profile = profiled(truth, 3)
    told = equations(profile, truth, count) + equations(profile, truth, 15)
    always, now = refitted(profile, told), refitted(profile, told, set())
    at_times = refitted(profile, told, {3, 17, 18, count - 2})
    np.testing.assert_array_equal(parameters(always), parameters(now))
    np.testing.assert_array_equal(parameters(always), parameters(at_times))


def test_later_placements_count() -> None:
    truth = true_table(seed=3)
    profile = profiled(truth, 3)
    told = equations(profile, truth, 60)
    fewer, more = refitted(profile, told[:40]), refitted(profile, told)
    assert judged(more, truth).mape < judged(fewer, truth).mape < 0.2 * judged(profile, truth).mape


def test_without_placements_the_profile_stays() -> None:
    table = true_table()
    assert Refit(table).table() is table


def drawn_tables(refit: Refit, seeds: Iterable[int]) -> list[CostTable]:
    return [refit.drawn(np.random.default_rng(seed), PriorScale(0.0, 0.3, 0.3)) for seed in seeds]


@pytest.mark.parametrize(("count", "widest"), [(20, 0.04), (140, 0.03)])  # rows, sums
def test_costs_drawn_agree_with_what_was_measured(count: int, widest: float) -> None:
    truth = true_table(10, seed=3)
    profile, seen = profiled(truth, 3), placements(truth, 140, seed=0)
    refit = Refit(profile)
    before = [latency_ms(table, seen[:count]) for table in drawn_tables(refit, range(40))]
    for one in equations(profile, truth, 140)[:count]:
        refit.add(one)
    after = np.array([latency_ms(table, seen[:count]) for table in drawn_tables(refit, range(40))])
    true_ms = latency_ms(truth, seen[:count])
    np.testing.assert_allclose(np.median(after.mean(axis=0) / true_ms), 1.0, atol=0.05)
    assert np.median(after.std(axis=0) / true_ms) < widest < 0.3 < np.median(np.std(before, axis=0) / true_ms)


@pytest.mark.parametrize("count", [0, 20, 140])
def test_costs_drawn_are_never_negative_and_depend_on_the_generator_only(count: int) -> None:
    truth = true_table(10, seed=3)
    profile = profiled(truth, 3)
    refit = Refit(profile)
    for one in equations(profile, truth, 140)[:count]:
        refit.add(one)
    first, same, other = map(parameters, drawn_tables(refit, (1, 1, 2)))
    assert min(first.min(), other.min()) >= 0
    np.testing.assert_array_equal(first, same)
    assert (first != other).mean() > 0.5


@pytest.mark.parametrize("count", [8, 60])
def test_a_draw_depends_on_what_was_measured_and_not_on_earlier_draws(count: int) -> None:
    truth = true_table(10, seed=3)
    profile = profiled(truth, 3)
    told, wide = equations(profile, truth, count), PriorScale(0.0, 0.3, 0.3)
    drawn, fresh = Refit(profile), Refit(profile)
    for one in told[:-3]:
        drawn.add(one)
    for seed in range(5):
        drawn.drawn(np.random.default_rng(seed), wide)
    for refit, rest in ((drawn, told[-3:]), (fresh, told)):
        for one in rest:
            refit.add(one)
    for seed in range(5):
        drawn.drawn(np.random.default_rng(seed), wide)
    again, first = (refit.drawn(np.random.default_rng(9), wide) for refit in (drawn, fresh))
    np.testing.assert_allclose(parameters(again), parameters(first), rtol=1e-6, atol=1e-9)


def test_a_placement_measured_again_is_one_row_of_bounded_weight() -> None:
    truth = true_table(8)
    first = equations(truth, truth, 5)
    rows = Rows(first)
    assert len(rows) == len({one.counts.tobytes() for one in first})
    before = rows.variances[0]
    for _ in range(3 * REPEATS):
        rows.add(Equations(first[0].counts, 2 * first[0].relative, first[0].variances, REFERENCE_MS))
    assert rows.variances[0] == pytest.approx(before / REPEATS)
    mean = (1 + 3 * REPEATS * 2) / (1 + 3 * REPEATS) * first[0].relative
    np.testing.assert_allclose(rows.over(1.0, np.array([0])), first[0].counts / mean, rtol=1e-12)


def test_only_the_mean_of_a_placement_measured_again_counts() -> None:
    truth = true_table(8)
    profile = profiled(truth)
    told = equations(profile, truth, 100)  # more than parameters, so that there are sums
    factors = (1.3, 0.8, 1.1, 0.9)
    again = [Equations(told[4].counts, f * told[4].relative, told[4].variances, REFERENCE_MS) for f in factors]
    vectors = [parameters(refitted(profile, told + some)) for some in (again, again[::-1], again[:1])]
    np.testing.assert_allclose(vectors[0], vectors[1], rtol=1e-7, atol=1e-12)
    assert np.abs(vectors[0] - vectors[2]).max() > 1e-4
