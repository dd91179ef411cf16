"""The choice among the placements of a search: what is raced, how it is measured, and when time is too short for it."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ovplace.config.schema import ComparisonConfig
from ovplace.core.measurement import Candidate, ErrorKind, Measurement, OutputError, Trial
from ovplace.core.placement import Placement
from ovplace.search.comparison import finalists
from ovplace.search.comparison.finalists import choose
from ovplace.search.comparison.race import Standing
from ovplace.search.staging import stages_over_hetero
from ovplace.session.deadline import TimeBudget, TimeIsUpError
from ovplace.session.events import Progress, silent
from ovplace.session.measurer import Measurer
from ovplace.store.run_db import RunStore
from ovplace.testing.sessions import OPS, QUICK, DirectPool, session

RACE = ComparisonConfig(race=6, finalists=3)
NAMES = ("CPU_0", "CPU_1")


def trial(number, ratio, **measured):
    """Return a trial that took a second to compile and 0.25 s for an inference."""
    placement = Placement((number + 1) >> np.arange(OPS) & 1, NAMES)
    return Trial(number, placement, Measurement((250.0,), (1,), compile_ms=1000.0, **measured), ratio, "test")


class Bench:
    """Answers with the latency of each name, or a failure; notes what it was asked for."""

    def __init__(self, latencies_ms):
        self.latencies_ms, self.asked, self.errors = latencies_ms, [], {}

    def measure(self, candidates, spec):
        self.asked.append(([candidate.name for candidate in candidates], spec.deadline_s))
        return [self.one(candidate.name) for candidate in candidates]

    def one(self, name):
        latency_ms = self.latencies_ms.get(name, 250.0)
        if not latency_ms:
            return Measurement.failed(ErrorKind.COMPILE, "refused")
        error = self.errors.get(name, 0.0)
        return Measurement((latency_ms,), (1,), outputs=(OutputError("y", error, error, 1.0),))


@pytest.fixture
def racing():
    """Return a function that gives a measurer of a bench, with a clock that stands still."""
    stores = []

    def make(bench, limit_s=float("inf"), config=RACE, **search):
        stores.append(RunStore(Path(":memory:")))
        of = session(Path(), DirectPool(bench.measure), comparison=config, **search)
        return Measurer(of, stores[-1], time=TimeBudget(0.0, limit_s, clock=lambda: 0.0))

    yield make
    for store in stores:
        store.close()


@pytest.fixture
def fields(monkeypatch):
    """Return the fields of races, which end at once with their first placement."""
    seen = []

    def race(field, measure, size, budget):
        seen.append((field, size, budget))
        yield Standing(np.arange(1), 0.5)

    monkeypatch.setattr(finalists, "race", race)
    return seen


def test_the_race_is_of_ratios_and_of_costs_where_there_are_some(racing, fields):
    measurer = racing(Bench({}), seed=7)
    trials = [trial(0, 0.5), trial(1, 0.75)]
    problem = measurer.session.problem
    for costs in (None, problem.costs):
        assert choose(measurer, trials, costs, silent).best.placement is trials[0].placement
    (plain, size, budget), (costly, _, _) = fields
    assert (size, budget) == (3, 6)
    for field in (plain, costly):
        assert (field.ratios.tolist(), field.seed, field.to_beat) == ([0.5, 0.75], 7, 1.0)
    assert (plain.costs, plain.device_of, costly.costs) == (None, None, problem.costs)
    assert costly.device_of.tolist() == [problem.lower(one.placement).tolist() for one in trials]


def test_at_most_200_placements_are_raced(racing, fields):
    choose(racing(Bench({})), [trial(i, 0.5 + i / 1000) for i in range(201)], None, silent)
    assert fields[0][0].ratios.tolist()[-1] == pytest.approx(0.699)
    assert len(fields[0][0].ratios) == 200


def test_what_is_usual_comes_from_all_trials_though_slow_references_make_low_ratios(racing, fields):
    fast = [trial(i, 0.4 + i / 1e4) for i in range(200)]  # beside a reference of about 600 ms
    choose(racing(Bench({})), [*fast, *(trial(200 + i, 0.5 + i / 1e4) for i in range(300))], None, silent)
    (field, _, _) = fields[0]
    assert len(field.disturbed) == 200
    assert (field.disturbed > 0).all()
    assert field.usual_ms == pytest.approx(500.0, rel=0.03)


def test_without_a_trial_there_is_nothing_to_choose(racing):
    assert choose(racing(Bench({})), [], None, silent).best is None


def test_the_fastest_in_turns_is_chosen_whatever_the_search_saw(racing):
    told, bench = [], Bench({"trial 1": 125.0})
    measurer = racing(bench)
    chosen = choose(measurer, [trial(0, 0.5), trial(1, 0.51), trial(2, 0.9)], None, told.append).best
    assert (chosen.name, chosen.placement.hash) == ("trial 1", trial(1, 0.5).placement.hash)
    assert bench.asked[0] == (["trial 0", "trial 1", "trial 2"], 3 * QUICK.deadline_s)
    first, last = told[0], told[-1]
    assert (first.phase, first.done, first.total) == ("finalists", 0, 6)
    assert re.fullmatch(r"trial 0 leads, \d+ % sure", first.text)
    assert (last.done, last.text) == (3, "trial 1 leads, 100 % sure")
    assert {one.key.split(" ", 1)[1] for one in measurer.store.measurements()} == {"heat 0"}


def test_where_none_works_again_none_is_chosen(racing):
    told = []
    bench = Bench({"trial 0": None, "trial 1": None})
    raced = choose(racing(bench), [trial(0, 0.5), trial(1, 0.6)], None, told.append)
    assert (raced.best, [m.error_text for m in raced.failures]) == (None, ["refused"] * 2)
    assert told[-1] == Progress("finalists", 2, 6, "none works")


def test_outputs_that_are_too_far_off_now_are_a_failure(racing):
    bench = Bench({"trial 0": 125.0})
    bench.errors = {"trial 0": 0.5}
    measurer = racing(bench)
    measurer.error_limit = 0.1
    assert choose(measurer, [trial(0, 0.5), trial(1, 0.51), trial(2, 0.9)], None, silent).best.name != "trial 0"


@pytest.mark.parametrize(("starting_s", "heats"), [(26.0, 1), (26.1, 0), (30.1, 0)])
def test_a_heat_that_does_not_fit_into_its_share_of_the_time_is_not_begun(racing, starting_s, heats):
    """Three tenths of 100 s are for this; two placements take 2 s each beside the start of a process."""
    bench = Bench({"trial 1": 125.0})
    measurer = racing(bench, limit_s=100.0)
    measurer.session.starting_s = starting_s
    chosen = choose(measurer, [trial(0, 0.5), trial(1, 0.51)], None, silent).best
    assert len(bench.asked) == heats
    assert chosen.name == ("trial 1" if heats else "trial 0")


def staged(number, ratio):
    return trial(number, ratio, stages_ms=(100.0, 150.0))


def test_what_the_search_ran_in_stages_is_compared_with_hetero_in_the_first_heat(racing):
    bench = Bench({"trial 0": 125.0, "trial 0 in stages": 150.0, "trial 2": 125.0})
    bench.errors = {"trial 0 in stages": 0.5}
    measurer = racing(bench)
    measurer.error_limit = 0.1  # which the outputs of stages need not keep to here
    choose(measurer, [staged(0, 0.5), trial(1, 0.51), staged(2, 0.505)], None, silent)
    assert [names for names, _ in bench.asked[:3]] == [
        ["trial 0", "trial 2", "trial 1"],
        ["trial 0 in stages", "trial 0"],
        ["trial 2 in stages", "trial 2"],
    ]
    assert not any("stages" in name for names, _ in bench.asked[3:] for name in names)
    assert stages_over_hetero(measurer.store) == {"trial 0": 1.2, "trial 2": 2.0}


def test_the_winner_of_a_later_heat_is_compared_with_its_stages_too(racing):
    bench = Bench({"trial 1": None, "trial 3": 50.0, "trial 3 in stages": 60.0})
    measurer = racing(bench, config=ComparisonConfig(race=6, finalists=2))
    chosen = choose(measurer, [trial(0, 0.5), trial(1, 0.505), staged(3, 0.51)], None, silent).best
    assert chosen.name == "trial 3" and bench.asked[-1][0] == ["trial 3 in stages", "trial 3"]
    assert stages_over_hetero(measurer.store) == {"trial 3": 1.2}


@pytest.mark.parametrize(("left_s", "compared"), [(2.0, False), (2.1, True)])
def test_stages_are_compared_where_there_is_time_for_it(racing, monkeypatch, left_s, compared):
    measurer = racing(Bench({}))
    monkeypatch.setattr(finalists, "_check_time", lambda *_: None)
    measurer.time = replace(measurer.time, limit_s=left_s / 0.3)
    choose(measurer, [staged(0, 0.5), trial(1, 0.51)], None, silent)
    assert bool(stages_over_hetero(measurer.store)) == compared


def test_without_a_heat_no_stages_are_compared(racing):
    bench = Bench({})
    assert choose(racing(bench), [staged(0, 0.5)], None, silent).best.name == "trial 0"
    assert bench.asked == []


def test_candidates_are_the_placements_of_the_trials(racing):
    chosen = choose(
        racing(Bench({}), config=ComparisonConfig(race=0)), [trial(3, 0.5), trial(1, 0.9)], None, silent
    ).best
    assert chosen == Candidate("trial 3", chosen.placement)


def test_a_heat_counts_though_no_time_is_left_for_its_stages(racing, monkeypatch):
    def no_time(*_):
        raise TimeIsUpError

    monkeypatch.setattr(finalists, "_compare_stages", no_time)
    chosen = choose(racing(Bench({"trial 1": 125.0})), [trial(0, 0.5), trial(1, 0.51)], None, silent).best
    assert chosen.name == "trial 1"
