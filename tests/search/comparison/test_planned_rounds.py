"""The number of rounds is settled once, after the first one, by its duration."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ovplace.config.schema import ComparisonConfig
from ovplace.core.measurement import Candidate
from ovplace.core.placement import Placement
from ovplace.search.comparison.planned_rounds import plan_rounds, planned_rounds
from ovplace.session.deadline import Phase, TimeBudget
from ovplace.session.measurer import Measurer
from ovplace.store.run_db import RunStore
from ovplace.testing.sessions import OPS, direct, session

BEST = Candidate("trial 1", Placement(np.arange(OPS) % 2, ("CPU_0", "CPU_1")))
OTHER = Candidate("trial 2", Placement(np.arange(OPS) // 6, ("CPU_0", "CPU_1")))


@pytest.fixture
def comparing():
    """Return a function that gives a measurer with so many seconds left for the comparison, always of one store."""
    store = RunStore(Path(":memory:"))

    def make(limit_s, rounds=4):
        of = session(Path(), direct(), comparison=ComparisonConfig(rounds=rounds))
        made = Measurer(of, store, time=TimeBudget(0.0, limit_s, clock=lambda: 0.0))
        made.enter(Phase.COMPARISON)
        return made

    yield make
    store.close()


@pytest.mark.parametrize(
    ("limit_s", "round_s", "planned"),
    [
        (100.0, 10.0, 11),
        (100.0, 15.0, 7),
        (100.0, 1.0, 20),
        (100.0, 90.0, 4),
        (100.0, 0.0, 4),
        (float("inf"), 10.0, 4),
    ],
)
def test_as_many_follow_as_fit_but_no_fewer_than_configured(comparing, limit_s, round_s, planned):
    assert plan_rounds(comparing(limit_s), BEST, round_s) == planned


def test_a_later_call_keeps_to_what_was_planned_for_the_placement(comparing):
    assert planned_rounds(comparing(100.0), BEST) == 4
    plan_rounds(comparing(100.0), BEST, 10.0)
    assert planned_rounds(comparing(100.0), BEST) == 11
    assert plan_rounds(comparing(100.0), BEST, 6.0) == 11
    assert planned_rounds(comparing(100.0), OTHER) == 4
    assert planned_rounds(comparing(100.0, rounds=15), BEST) == 15


def test_a_plan_without_a_limit_is_kept_too(comparing):
    plan_rounds(comparing(float("inf")), BEST, 10.0)
    assert plan_rounds(comparing(100.0), BEST, 10.0) == 4


def test_a_plan_that_is_no_number_is_none(comparing):
    of = comparing(100.0)
    of.store.put(f"rounds {BEST.hash}", "many")
    assert planned_rounds(of, BEST) == 4
