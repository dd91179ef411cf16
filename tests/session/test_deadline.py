"""The time of a call, by a clock that the test moves."""

from __future__ import annotations

import pytest

from ovplace.core.measurement import Measurement, MeasureSpec
from ovplace.session.deadline import GRACE_S, Deadline, Phase, TimeBudget, TimeIsUpError
from ovplace.session.fitting import fitting


class Clock:
    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


def test_a_call_without_a_limit_has_none(clock):
    for phase in Phase:
        deadline = TimeBudget(clock(), clock=clock).deadline(phase)
        assert deadline.left_s == float("inf")
        assert deadline.cut(120.0) == 120.0


def test_a_request_is_cut_to_what_is_left_and_none_begins_later(clock):
    deadline = Deadline(1010.0, clock=clock)
    assert deadline.cut(3.0) == 3.0
    assert deadline.cut(120.0) == 10.0 + GRACE_S
    assert deadline.with_grace(30.0).cut(120.0) == 40.0
    clock.now = 1010.0
    with pytest.raises(TimeIsUpError):
        deadline.cut(3.0)


@pytest.mark.parametrize(("expected_s", "reserved_s"), [(0.0, 25.0), (35.0, 35.0), (500.0, 40.0)])
def test_the_final_comparison_keeps_a_share(clock, expected_s, reserved_s):
    budget = TimeBudget(clock(), 100.0, clock=clock).expecting(20.0, expected_s)
    assert budget.deadline(Phase.SEARCH).left_s == 100.0 - reserved_s
    assert budget.deadline(Phase.COMPARISON).left_s == 100.0


def test_what_a_phase_leaves_goes_to_the_later_ones(clock):
    budget = TimeBudget(clock(), 100.0, clock=clock)
    assert budget.deadline(Phase.BASELINES).left_s == 40.0
    clock.now += 5.0
    assert budget.deadline(Phase.PROFILE).left_s == (75.0 - 5.0) / 2
    clock.now += 5.0
    assert budget.deadline(Phase.SEARCH).left_s == 65.0
    clock.now += 10.0
    assert budget.deadline(Phase.FINALISTS).left_s == pytest.approx(0.3 * 80.0)


@pytest.mark.parametrize(("left_s", "blocks", "repeats"), [(20.0, 3, 3), (9.0, 3, 1), (5.0, 1, 1)])
def test_a_slow_candidate_is_timed_less_often_where_time_is_short(left_s, blocks, repeats):
    slow = Measurement((1000.0,), (1,))
    fitted = fitting(MeasureSpec(), [slow], left_s)
    assert (fitted.blocks, fitted.repeats) == (blocks, repeats)


def test_what_does_not_fit_is_not_timed():
    assert fitting(MeasureSpec(), [Measurement((1000.0,), (1,))], 3.0) is None


def test_a_hopeless_candidate_gets_one_sample_anyhow():
    both = [Measurement((1.0,), (1,)), Measurement((1000.0,), (1,))]
    assert fitting(MeasureSpec(), both, 7.0) == MeasureSpec()
