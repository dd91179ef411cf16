"""The placer that solves a measured cost model, where choices fail that the model thinks good."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ovplace.core.cost_table import CostTable
from ovplace.cost.evaluate.latency import latency_ms
from ovplace.cost.solvers.min_cut import solve_min_cut
from ovplace.cost.solvers.moves import Moves
from ovplace.cost.solvers.portfolio import candidates, ranked
from ovplace.graphs.op_graph import IntArray
from ovplace.placers.min_cut import placer as placer_module
from ovplace.placers.min_cut.placer import Config, Placer
from ovplace.plugins import registry
from ovplace.testing.graphs import costs, layered, problem, trial_of
from ovplace.testing.measurements import profiled
from ovplace.testing.slow import slow_except

GROUPS = 30


def told(table: CostTable, choice: IntArray, bad: list[tuple[int, int]]) -> float:
    fails = any(choice[group] == device for group, device in bad)
    return np.inf if fails else float(latency_ms(table, choice[None])[0])


def test_a_first_failure_where_no_device_runs_all():
    of = problem(layered(3, 0), 2, supported=np.array([[False, True], [True, True], [True, True]]))
    forbidden = of.costs.group_ms.copy()
    forbidden[1, 1] = np.inf
    plugin = registry.load("placers", "min_cut")
    placer = plugin.factory(replace(of, costs=replace(of.costs, group_ms=forbidden)), plugin.config({}))
    (first,) = placer.ask(1)
    placer.tell([trial_of(0, first, np.inf)])
    assert first.hash not in {placement.hash for placement in placer.ask(1)}


@pytest.mark.parametrize(
    "settings", [{"weights": (np.inf,)}, {"weights": (np.nan,)}, {"cost_noise": np.inf}, {"time_limit_s": np.nan}]
)
def test_settings_are_finite(settings):
    with pytest.raises(ValueError, match=next(iter(settings))):
        Config(**settings)


def test_a_certificate_takes_no_longer_than_is_given(monkeypatch):
    of, limits = problem(layered(3, 0), 2), []
    solved = solve_min_cut(of.costs)

    def solve(_, limit_s):
        limits.append(limit_s)
        return solved

    monkeypatch.setattr(placer_module, "solve_pairwise", solve)
    for limit_s in (np.inf, 3.0):
        assert Placer(of, Config()).certificate(limit_s) == solved.certificate
    assert limits == [10.0, 3.0]


@pytest.mark.parametrize("seed", slow_except([0], range(4)))
def test_it_finds_out_what_fails_and_does_without(seed):
    of = problem(layered(GROUPS, seed), 2, seed)
    table = costs(of, seed)
    best = solve_min_cut(table).device_of
    alone = float(min(latency_ms(table, np.array([[0] * GROUPS, [1] * GROUPS]))))
    bad = [(int(group), int(best[group])) for group in np.flatnonzero(best == 0)[:2]]
    assert bad
    forbidden = table.group_ms.copy()
    forbidden[tuple(zip(*bad, strict=True))] = np.inf
    allowed = replace(table, group_ms=forbidden)
    optimum_ms = float(latency_ms(allowed, solve_min_cut(allowed).device_of[None])[0])
    plugin = registry.load("placers", "min_cut")
    placer, found = plugin.factory(of, plugin.config({})), [alone]
    for number in range(60):
        asked = placer.ask(1)
        found += [told(table, placement.device_of, bad) for placement in asked]
        placer.tell([trial_of(number, placement, found[-1], alone) for placement in asked])
    assert min(found) < optimum_ms + 0.25 * (alone - optimum_ms)


def test_a_fast_device_that_fails_alone_is_used_for_what_it_can_run():
    of = problem(layered(GROUPS, 0), 2, 0)
    group_ms, saving_ms = of.costs.group_ms[:, :1] * np.array([1.0, 0.1]), np.zeros_like(of.costs.saving_ms)
    table = replace(of.costs, group_ms=group_ms, saving_ms=saving_ms)
    bad, alone = [(5, 1), (14, 1), (23, 1)], float(latency_ms(table, np.zeros((1, GROUPS), int))[0])
    placer, found, asked = Placer(replace(of, costs=table), Config()), [], []
    for number in range(30):
        (placement,) = placer.ask(1)
        asked.append(placement.used)
        found.append(told(table, placement.device_of, bad))
        placer.tell([trial_of(number, placement, found[-1], alone)])
    assert asked[:2] == [("CPU_1",), ("CPU_0",)], "the single device that works tells what is not to blame"
    assert min(found) < 0.7 * alone


@pytest.mark.parametrize(("draws", "same"), [(0, True), (5, False)])
def test_after_the_sweeps_the_seed_decides_what_is_drawn(draws: int, same: bool) -> None:
    plugin = registry.load("placers", "min_cut")
    of = problem(layered(GROUPS, 0), 2, 0)
    truth, poor = costs(of, 0), profiled(costs(of, 0))
    alone = float(min(latency_ms(truth, np.array([[0] * GROUPS, [1] * GROUPS]))))
    asked = []
    for seed in (0, 1):
        placer = plugin.factory(replace(of, costs=poor, seed=seed), plugin.config({"draws": draws}))
        hashes = []
        for number in range(40):
            (placement,) = placer.ask(1)
            hashes.append(placement.hash)
            placer.tell([trial_of(number, placement, told(truth, placement.device_of, []), alone)])
        asked.append(hashes)
    assert asked[0][:5] == asked[1][:5]
    assert (asked[0] == asked[1]) is same


def test_draws_in_vain_are_followed_by_a_neighbour_of_the_last_one(monkeypatch: pytest.MonkeyPatch) -> None:
    of, drawn = problem(layered(12, 0), 2, 0), []

    def noted(table: CostTable, weight: float = 1.0, *, quick: bool = False) -> list[IntArray]:
        found = candidates(table, weight, quick=quick)
        drawn.append((table, found))
        return found

    monkeypatch.setattr(placer_module, "candidates", noted)
    placer = Placer(replace(of, costs=profiled(costs(of, 0))), Config(sweeps=1, draws=2))
    seen, neighbours = set[str](), 0
    for number in range(60):
        drawn.clear()
        (placement,) = placer.ask(1)
        if drawn and all(of.lift(choice).hash in seen for _, found in drawn for choice in found):
            table, found = drawn[-1]
            moves = Moves.of(table, found[0])
            near = [of.lift(choice).hash for choice in ranked(table, moves.rows(np.arange(len(moves))))]
            if new := [hash_ for hash_ in near if hash_ not in seen]:
                assert placement.hash == new[0]
                neighbours += len(drawn) == 2
        seen.add(placement.hash)
        placer.tell([trial_of(number, placement, told(costs(of, 0), placement.device_of, []), 1.0)])
    assert neighbours > 20
