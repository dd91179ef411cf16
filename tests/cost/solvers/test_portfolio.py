from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ovplace.core.certificate import FULL, Certificate
from ovplace.cost.evaluate.latency import latency_ms
from ovplace.cost.solvers import portfolio
from ovplace.cost.solvers.milp.solver import solve_milp
from ovplace.cost.solvers.portfolio import (
    best_certified,
    best_known,
    best_of_with_uniform,
    candidates,
    solve_pairwise,
    thorough_candidates,
)
from ovplace.cost.solvers.solution import Solution
from ovplace.errors import PlacementError
from ovplace.testing.graphs import costs, layered, problem
from ovplace.testing.placements import every_choice, optimum


def value(table, choice):
    return float(latency_ms(table, choice[None])[0])


def test_no_single_device_is_faster_and_no_placement_is_faster_than_the_optimum():
    for seed in range(5):
        of = problem(layered(7, seed=seed), n_devices=2)
        found = value(of.costs, best_known(of.costs))
        assert optimum(of.costs, latency_ms) - 1e-12 <= found
        assert found <= min(value(of.costs, of.uniform(device)) for device in range(2)) + 1e-12


def test_a_choice_stays_unless_a_single_device_is_faster():
    of = problem(layered(8, seed=3), n_devices=2)
    dear = costs(of, submodel_ms=50.0)
    torn = np.arange(of.n_groups) % 2
    alone = best_of_with_uniform(dear, [torn])
    assert len(set(alone.tolist())) == 1
    assert value(dear, alone) == min(value(dear, of.uniform(device)) for device in range(2))
    best = best_known(of.costs)
    assert value(of.costs, best_of_with_uniform(of.costs, [torn, best])) == value(of.costs, best)


@pytest.mark.parametrize("n_devices", [2, 3])
def test_what_is_certified_is_the_optimum_and_its_proof(n_devices):
    table = problem(layered(8, seed=n_devices), n_devices).costs
    found = best_certified(table, 20.0)
    assert found.value_ms == value(table, found.device_of) == pytest.approx(optimum(table, latency_ms))
    assert found.lower_bound_ms <= found.value_ms * (1 + 1e-9)
    assert found.gap_of(found.value_ms) < 1e-6
    assert [solution.certificate.solver for solution in found.solutions] == ["milp", "min_cut"][: 4 - n_devices]


def test_a_given_placement_stands_where_the_solvers_find_nothing_better(monkeypatch):
    def poor(table, **_):
        return Solution(table.uniform(0), Certificate("poor", FULL, 1e6, 0.01, 0.0))

    for name in ("solve_milp", "solve_min_cut"):
        monkeypatch.setattr(portfolio, name, poor)
    monkeypatch.setattr(portfolio, "local_descent", lambda _, choice: choice)
    table = problem(layered(7, seed=3), n_devices=2).costs
    choices = every_choice(table)
    found = best_certified(table, 1.0, [choices[latency_ms(table, choices).argmin()]])
    assert found.found_by == ""
    assert found.value_ms == pytest.approx(optimum(table, latency_ms))
    assert found.gap_of(found.value_ms) > 10


def test_a_placement_that_does_not_fit_into_memory_is_never_best():
    table = problem(layered(6, seed=3), n_devices=2).costs
    table = replace(table, group_bytes=np.ones(6), memory_bytes=np.array([2.0, 4.0]))
    found = best_certified(table, 10.0, table.uniform_choices())
    assert found.value_ms == pytest.approx(optimum(table, latency_ms))
    assert table.fits(found.device_of[None]).all()


def test_a_model_too_large_for_memory_is_refused():
    table = problem(layered(6, seed=1), n_devices=2).costs
    with pytest.raises(PlacementError, match="memory"):
        best_certified(replace(table, memory_bytes=0.1 * table.group_bytes.sum() * np.ones(2)), 1.0)


@pytest.mark.parametrize(("spare", "solver"), [(0.0, "min_cut"), (-1e-6, "milp")])
def test_memory_for_the_whole_model_is_no_limit(spare, solver):
    table = problem(layered(8, seed=1), n_devices=2).costs
    needed = table.group_bytes.sum() * (1 + 1e-12)
    limited = replace(table, memory_bytes=np.array([np.inf, needed * (1 + spare)]))
    assert solve_pairwise(limited, 10.0).certificate.solver == solver


def test_memory_for_the_whole_model_changes_no_candidate(monkeypatch):
    table = problem(layered(12, seed=1), n_devices=2).costs
    ample = replace(table, memory_bytes=np.full(2, 2 * table.group_bytes.sum()))
    expected = [choice.tolist() for choice in candidates(table)]
    monkeypatch.setattr(portfolio, "alpha_expansion", lambda _: pytest.fail("expanded"))
    monkeypatch.setattr(portfolio, "rounded_relaxations", lambda *_: pytest.fail("rounded"))
    for find in (candidates, thorough_candidates):
        assert [choice.tolist() for choice in find(ample)] == expected


def on_three_devices(seed, n=30):
    of = problem(layered(n, seed=seed), n_devices=3)
    return costs(of, submodel_ms=0.5)


def test_rounded_relaxations_come_nearer_to_the_optimum_than_expansion_moves():
    """The optima, by mixed-integer programs in under a second each, are what the roundings find."""
    for seed, above in {3: 0.06, 6: 0.04, 7: 0.009}.items():
        table = on_three_devices(seed)
        best = solve_milp(table, time_limit_s=60.0).certificate.value_ms
        assert value(table, candidates(table)[0]) > best * (1 + above)
        assert value(table, thorough_candidates(table)[0]) == pytest.approx(best)


def test_what_expansion_moves_find_stays_beside_a_rounding():
    table = on_three_devices(3)
    found = thorough_candidates(table)
    assert [choice.tolist() for choice in found[1:]] == [choice.tolist() for choice in candidates(table)]
    assert value(table, found[0]) <= value(table, found[1])


def test_nothing_is_rounded_for_two_devices_nor_for_many_groups(monkeypatch):
    monkeypatch.setattr(portfolio, "rounded_relaxations", lambda *_: pytest.fail("rounded"))
    thorough_candidates(problem(layered(7, seed=0), n_devices=2).costs)
    monkeypatch.setattr(portfolio, "RELAXED_SIZE", 30 * 9 - 1)
    thorough_candidates(on_three_devices(0))


def test_a_rounding_that_does_not_fit_into_memory_is_left_out():
    table = on_three_devices(3)
    bytes_of = np.full(table.n_groups, 1.0)
    small = replace(table, group_bytes=bytes_of, memory_bytes=np.array([12.0, 12.0, 12.0]))
    assert all(small.fits(np.array(thorough_candidates(small))))
