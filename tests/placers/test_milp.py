from __future__ import annotations

import json
from dataclasses import replace
from math import inf

import pytest

from ovplace.cost.evaluate.latency import latency_ms
from ovplace.cost.solvers.milp.solver import solve_milp
from ovplace.errors import PlacementError
from ovplace.placers import dp
from ovplace.placers import milp as placer
from ovplace.testing.graphs import diamond, layered, problem
from ovplace.testing.placements import optimum


def test_the_placer_asks_the_optimum_first():
    of = problem(layered(8, seed=4), 3)
    made = placer.Placer(of, placer.Config())
    first = made.ask(4)
    value = latency_ms(of.costs, first[0].device_of[None])[0]
    assert len(first) == 1
    assert value == pytest.approx(optimum(of.costs, latency_ms))
    assert made.certificate(inf).value_ms == pytest.approx(value)


def test_the_placer_keeps_its_certificate():
    of = problem(layered(8, seed=4), 3)
    made, other = (placer.Placer(of, placer.Config()) for _ in range(2))
    made.ask(1)
    other.restore(json.loads(json.dumps(made.state())))
    assert other.certificate(inf) == made.certificate(inf)


def test_a_certificate_takes_no_longer_than_is_given(monkeypatch):
    of, limits = problem(diamond()), []
    solved = solve_milp(of.costs)

    def solve(*given):
        limits.append(given[2])
        return solved

    monkeypatch.setattr(placer, "solve_milp", solve)
    for limit_s in (inf, 3.0):
        assert placer.Placer(of, placer.Config()).certificate(limit_s) == solved.certificate
    assert limits == [60.0, 3.0]


def test_the_placer_needs_costs():
    with pytest.raises(PlacementError, match="costs"):
        placer.Placer(replace(problem(diamond()), costs=None), placer.Config())


@pytest.mark.parametrize("weight", [-1.0, float("inf"), float("nan")])
def test_weights_are_finite(weight):
    with pytest.raises(ValueError, match="finite"):
        placer.Config(weights=(1.0, weight))


def test_a_placer_that_solves_for_weights_alone_needs_one():
    assert placer.Config(weights=()).weights == ()
    with pytest.raises(ValueError, match=r"weights must have 1 or more non-negative numbers, got \(\)"):
        dp.Config(weights=())
