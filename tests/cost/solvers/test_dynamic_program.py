"""The dynamic program against brute force."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ovplace.core.certificate import FULL
from ovplace.core.partition import Partition
from ovplace.cost.evaluate.latency import latency_ms, pairwise_ms
from ovplace.cost.solvers import dynamic_program as chain_module
from ovplace.cost.solvers.dynamic_program import solve_chain, units
from ovplace.errors import PlacementError
from ovplace.plugins import registry
from ovplace.seeds import generator
from ovplace.testing.graphs import KINDS, chain, costs, diamond, graph, layered, problem
from ovplace.testing.placements import every_choice, optimum

SIZES = {2: 9, 3: 7, 4: 5}


def kinds(n):
    return [KINDS[i % len(KINDS)] for i in range(n)]


def supported(n, d, rng):
    allowed = rng.random((n, d)) < 0.8
    allowed[np.arange(n), rng.integers(d, size=n)] = True
    return allowed


def path_table(seed):
    """A path of 2 to 9 groups whose order is not that of their numbers."""
    rng = generator(seed, "testing", "chain")
    d = 2 + seed % 3
    n = int(rng.integers(2, SIZES[d] + 1))
    order = rng.permutation(n)
    of = graph(kinds(n), zip(order[:-1].tolist(), order[1:].tolist(), strict=True))
    bare = problem(of, d, seed, supported=supported(n, d, rng))
    return costs(bare, seed, submodel_ms=float(rng.choice([0.1, 2.0])))


PATHS = [path_table(seed) for seed in range(120)]


def is_proven_optimum(table):
    found = solve_chain(table)
    best_ms = optimum(table, latency_ms)
    return found.certificate.gap == 0 and found.certificate.value_ms == pytest.approx(best_ms, rel=1e-9)


def test_finds_the_optimum_of_paths():
    assert all(is_proven_optimum(table) for table in PATHS)
    assert all(solve_chain(table).certificate.leaves_out == "memory limits" for table in PATHS)


@pytest.mark.parametrize("forgotten", ["submodel_ms", "saving_ms", "latency_ms"])
def test_a_broken_solver_is_seen(monkeypatch, forgotten):
    steps = chain_module._steps
    broken = lambda table, unit_of: steps(replace(table, **{forgotten: 0 * getattr(table, forgotten)}), unit_of)  # noqa: E731
    monkeypatch.setattr(chain_module, "_steps", broken)
    assert not all(is_proven_optimum(table) for table in PATHS)


def whole(table, choices):
    """The placements that keep each unit on one device."""
    unit_of = units(table)
    _, first = np.unique(unit_of, return_index=True)
    return choices[(choices == choices[:, first][:, unit_of]).all(axis=1)]


@pytest.mark.parametrize("count", [2, 3])
def test_elsewhere_it_is_the_best_that_keeps_units_whole_and_its_bound_holds(count):
    contracted = 0
    for seed in range(60):
        n = 2 + seed % (SIZES[count] - 1)
        table = problem(layered(n, seed, width=1), count, seed).costs
        certificate, choices = solve_chain(table).certificate, every_choice(table)
        values = latency_ms(table, choices)
        assert certificate.model == FULL
        assert certificate.value_ms == pytest.approx(latency_ms(table, whole(table, choices)).min())
        assert certificate.lower_bound_ms <= values.min() + 1e-12
        contracted += "kept together" in certificate.leaves_out
    assert 10 < contracted < 60


def test_units_of_a_diamond():
    assert units(problem(diamond()).costs).tolist() == [0, 1, 1, 1, 1, 1]


def test_units_end_behind_a_group_that_alone_is_read_later():
    branches = [(0, 1), (1, 2), (1, 3), (2, 4), (3, 4), (4, 5), (4, 6)]
    of = problem(graph(kinds(7), branches)).costs
    assert units(of).tolist() == [0, 1, 2, 2, 2, 3, 3]


def test_a_circle_of_groups_is_one_unit():
    of = problem(chain(("Add", "Sin") * 4), partition=Partition(np.arange(8) % 4))
    assert units(of.costs).tolist() == [0, 0, 0, 0]


def test_parts_that_share_nothing_are_submodels_of_their_own():
    table = problem(graph(kinds(4), [(0, 1), (2, 3)]), 3).costs
    assert is_proven_optimum(table)


def test_a_unit_that_runs_nowhere_is_refused_with_advice():
    allowed = np.ones((6, 2), dtype=bool)
    allowed[1, 0] = allowed[3, 1] = False
    with pytest.raises(PlacementError, match="min_cut"):
        solve_chain(problem(diamond(), supported=allowed).costs)


def build(of, **settings):
    plugin = registry.load("placers", "dp")
    return plugin.factory(of, plugin.Config(**settings))


def test_the_placer_asks_the_optimum_first():
    of = problem(chain(kinds(8)), 3)
    placer = build(of)
    asked = placer.ask(100)
    assert len({placement.hash for placement in asked}) == len(asked)
    assert asked[0].hash == of.lift(solve_chain(of.costs).device_of).hash
    assert placer.certificate(np.inf).value_ms == pytest.approx(optimum(of.costs, latency_ms))
    assert not placer.ask(1)


def test_the_placer_needs_costs():
    with pytest.raises(PlacementError, match="needs the costs"):
        build(replace(problem(diamond()), costs=None))


@pytest.mark.parametrize("weights", [(), (-1.0,), (np.inf,)])
def test_settings_are_checked(weights):
    with pytest.raises(ValueError, match="weights"):
        build(problem(diamond()), weights=weights)


def test_the_full_model_is_not_below_the_pairwise_one():
    for table in PATHS[:10]:
        assert (latency_ms(table, every_choice(table)) >= pairwise_ms(table, every_choice(table))).all()
