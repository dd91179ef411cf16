"""An answer that is a baseline holds until another answer is faster in rounds with it."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from ovplace.commands.checking.baseline_answer import BaselineAnswer
from ovplace.core.measurement import Candidate
from ovplace.search.comparison.final_comparison import decide
from ovplace.session.baselines import measure_baselines
from ovplace.session.deadline import TimeBudget, TimeIsUpError
from ovplace.session.events import silent
from ovplace.session.measurer import Measurer
from ovplace.store.run_db import RunStore
from ovplace.testing.sessions import QUICK, direct, session

LUCKY = 1 / 1.52


@pytest.fixture
def measurer(tmp_path):
    with closing(RunStore(Path(":memory:"))) as store:
        yield Measurer(session(tmp_path, direct()), store)


@pytest.fixture
def baselines(measurer):
    """Of these, CPU_0 takes 10 ms and CPU_1 11 ms."""
    return [b for b in measure_baselines(measurer, QUICK, silent) if b.competes]


def beside(measurer, answer, baselines):
    return BaselineAnswer(answer, baselines, decide(measurer, baselines, (), silent))


def test_an_answer_does_not_meet_itself_under_another_name(measurer, baselines):
    target = "HETERO:CPU_0,CPU_1"
    same = replace(baselines[0], candidate=Candidate(f"{target} (automatic)", target=target), ratio=LUCKY)
    checked = beside(measurer, baselines[0], [*baselines, same])
    rounds = checked.rounds(measurer, silent)
    assert (len(rounds), checked.problem(rounds)) == (0, "")


def test_one_lucky_figure_is_measured_again(measurer, baselines):
    answer, other = baselines
    checked = beside(measurer, answer, [answer, replace(other, ratio=LUCKY)])
    rounds = checked.rounds(measurer, silent)
    assert rounds.interval(answer.name, other.name).high < 1
    assert checked.problem(rounds) == ""


def test_what_is_faster_in_rounds_is_told(measurer, baselines):
    first, answer = baselines
    checked = beside(measurer, replace(answer, ratio=1.3), [first, answer])
    assert checked.problem(checked.rounds(measurer, silent)).startswith("it is slower than CPU_0: ratio 1.100")


def test_without_time_for_rounds_nothing_is_said(measurer, baselines):
    answer, other = baselines
    checked = beside(measurer, answer, [answer, replace(other, ratio=LUCKY)])
    measurer.time = TimeBudget(limit_s=0.0)
    with pytest.raises(TimeIsUpError):
        checked.rounds(measurer, silent)
