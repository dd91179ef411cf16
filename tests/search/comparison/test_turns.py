"""Who takes turns in the final comparison, for how long, and what is said of it, on a bench with known latencies."""

from __future__ import annotations

from contextlib import closing, nullcontext
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ovplace.config.schema import ComparisonConfig
from ovplace.core.device import Device
from ovplace.core.measurement import Candidate, ErrorKind, Measurement, OutputError, Trial
from ovplace.core.placement import Placement
from ovplace.core.verdict import Verdict
from ovplace.search.comparison.final_comparison import decide
from ovplace.session.baselines import Baseline
from ovplace.session.deadline import TimeBudget
from ovplace.session.events import Progress, silent
from ovplace.session.measurer import Measurer
from ovplace.store.run_db import RunStore
from ovplace.testing.graphs import problem
from ovplace.testing.sessions import OPS, QUICK, DirectPool, session

NAMES = ("CPU_0", "CPU_1", "CPU_2")
ROUNDS = ComparisonConfig(race=0, rounds=4, blocks=3, repeats=2, min_time_ms=5.0)
LOST = Measurement.failed(ErrorKind.CRASH, "lost")
LATE = Measurement.failed(ErrorKind.TIMEOUT, "late")


class Bench:
    """Measures by name: a latency, one for each process in turn, or None for a failure; `round_s` a request.

    Outputs are off by `errors`, one for each process in turn, by name.
    """

    def __init__(self, latencies_ms, round_s=0.0):
        self.latencies_ms = {"CPU_0": 10.0, "CPU_1": 11.0} | latencies_ms
        self.round_s, self.now, self.process, self.asked = round_s, 1000.0, -1, []
        self.errors = {}

    def fresh(self):
        self.process += 1

    def measure(self, candidates, spec):
        self.asked.append((candidates, spec))
        self.now += min(self.round_s, spec.deadline_s)
        return [LATE if self.round_s > spec.deadline_s else self.one(candidate.name) for candidate in candidates]

    def one(self, name):
        found = self.latencies_ms.get(name, 10.0)
        found = found[self.process % len(found)] if isinstance(found, list) else found
        if not found:
            return LOST
        errors = self.errors.get(name, [0.0])
        error = errors[self.process % len(errors)]
        return Measurement((found,) * 3, (1,) * 3, outputs=(OutputError("y", error, error, 1.0),))

    @property
    def names(self):
        """Who took turns in the first round of the last decision."""
        return [candidate.name for candidate in self.asked[0][0]]


def split(number, devices=NAMES[:2]):
    """Return the placement of all but the first operations, one more with each number, on the second device."""
    return Placement((np.arange(OPS) > number).astype(int), devices)


def trial(number, ratio, placement=None):
    return Trial(number, placement or split(number), Measurement((8.0,), (1,)), ratio, "test")


def on(name, ratio=1.0, measured=None, competes=True):
    """Return a baseline of one device."""
    placement = Placement.uniform(OPS, name.split()[0], NAMES)
    return Baseline(Candidate(name, placement), measured or Measurement((10.0,), (1,)), ratio, competes, placement)


BASELINES = (on("CPU_0"), on("CPU_1", 1.1))
TRIALS = (trial(0, 0.8),)


def decided(
    bench, trials=TRIALS, baselines=BASELINES, config=ROUNDS, nulls=(), limit_s=float("inf"), store=None, **rest
):
    """Return the outcome of a final comparison, in which all is measured anew unless a store is given."""
    bench.asked.clear()
    of = session(Path(), DirectPool(bench.measure, bench.fresh), comparison=config, placer="cut")
    of.nulls = dict(nulls)
    of.selection = replace(of.selection, simulated=rest.pop("simulated", ""))
    of.problem = problem(of.graph, n_devices=3)
    with nullcontext(store) if store else closing(RunStore(Path(":memory:"))) as kept:
        measurer = Measurer(of, kept, time=TimeBudget(1000.0, limit_s, clock=lambda: bench.now))
        measurer.error_limit = rest.pop("error_limit", float("inf"))
        return decide(measurer, list(baselines), list(trials), rest.pop("listener", silent), **rest)


def test_the_best_placement_meets_all_that_may_be_the_best_baseline():
    automatic = replace(BASELINES[0], candidate=Candidate("HETERO (automatic)", target="HETERO:CPU_0"), ratio=0.99)
    unknown = replace(automatic, candidate=Candidate("AUTO", target="AUTO:CPU_0"), placement=None, competes=False)
    baselines = [
        *BASELINES,
        on("CPU_2", 1.2),
        automatic,
        unknown,
        on("CPU_1 (default precision)", 0.5, competes=False),
        on("CPU_2 (default precision)", float("inf"), LOST, competes=False),
    ]
    bench = Bench({"trial 0": 5.0, "CPU_1 (default precision)": 20.0})
    found = decided(bench, baselines=baselines)
    assert bench.names == ["trial 0", "CPU_0", "CPU_1", "CPU_1 (default precision)"]
    assert {name: ratio.value for name, ratio in found.verdict.defaults.items()} == {
        "CPU_1 (default precision)": pytest.approx(0.25)
    }
    assert (found.origin, found.verdict.against, found.verdict.notes) == ("cut", "CPU_0", ())
    assert found.verdict.ratio.value == pytest.approx(0.5)


def test_a_device_that_failed_is_no_contender():
    bench = Bench({"trial 0": 5.0})
    decided(bench, baselines=[BASELINES[0], on("CPU_1", 1.0, LOST)])
    assert bench.names == ["trial 0", "CPU_0"]


@pytest.mark.parametrize(("race", "culprit"), [(24, "trial 0"), (0, "CPU_1")])
def test_a_candidate_that_ends_its_process_fails_alone(monkeypatch, race, culprit):
    bench = Bench({"trial 0": 4.0, "trial 1": 5.0, "trial 2": 6.0})
    real = bench.measure

    def measure(candidates, spec):
        gone = any(candidate.name == culprit for candidate in candidates)
        return [LOST] * len(candidates) if gone else real(candidates, spec)

    monkeypatch.setattr(bench, "measure", measure)
    found = decided(bench, [trial(i, 0.4 + 0.1 * i) for i in range(3)], config=replace(ROUNDS, race=race))
    assert (found.found.name, found.verdict.status) == ("trial 1" if race else "trial 0", "faster")
    assert found.verdict.against == "CPU_0"


def test_a_device_that_failed_as_a_baseline_may_be_found_by_the_search():
    bench = Bench({"trial 0": 5.0})
    lost = on("CPU_1", np.inf, LATE)
    found = decided(bench, [trial(0, 0.5, lost.placement)], [BASELINES[0], lost])
    assert (found.origin, found.placement.used) == ("cut", ("CPU_1",))


def test_a_placement_that_some_baseline_names_but_does_not_offer_may_be_found():
    offered = replace(BASELINES[1], competes=False)
    bench = Bench({"trial 0": 5.0})
    decided(bench, [trial(0, 0.8, BASELINES[1].placement)], [BASELINES[0], offered])
    assert bench.names[0] == "trial 0"


def test_each_candidate_adds_its_time_to_that_of_a_round():
    bench = Bench({"trial 0": 9.0})
    decided(bench)
    _, spec = bench.asked[-1]
    assert (spec.blocks, spec.repeats, spec.min_time_ms, spec.deadline_s) == (3, 2, 5.0, 3 * QUICK.deadline_s)


def test_each_round_is_told_and_at_last_that_they_are_done():
    told = []
    decided(Bench({"trial 0": 9.0}), listener=told.append)
    text = "trial 0 against CPU_0"
    rounds = [Progress("final comparison", number, 4, text) for number in range(4)]
    assert told[1:] == [*rounds, Progress("final comparison", 4, 4, "done")]


def test_the_earlier_answer_takes_turns_unless_it_is_the_best_again():
    trials = [trial(0, 0.8), trial(1, 0.85), trial(2, 0.9)]
    bench = Bench({"trial 0": 9.0})
    decided(bench, trials, earlier_answer=split(1).hash)
    assert bench.names == ["trial 0", "CPU_0", "CPU_1", "trial 1"]
    decided(bench, trials, earlier_answer=split(0).hash)
    assert bench.names == ["trial 0", "CPU_0", "CPU_1"]


NULLS = {"CPU_0": Device("CPU_0_NULL", "CPU")}


def test_cuts_alone_are_measured_between_two_aliases_of_the_baseline():
    bench = Bench({"trial 0": 5.0, "null control": 8.0})
    verdict = decided(bench, nulls=NULLS).verdict
    assert bench.names == ["trial 0", "CPU_0", "CPU_1", "null control"]
    placement = bench.asked[0][0][3].placement
    assert placement.devices == ("CPU_0", "CPU_0_NULL")
    assert placement.device_of.tolist() == split(0).device_of.tolist()
    assert verdict.null_control.value == pytest.approx(0.8)
    assert verdict.notes == (
        "cutting the model at the same places without changing the device makes it faster, too (ratio 0.800); that "
        "part of the gain does not come from the second device",
    )


@pytest.mark.parametrize(("second_ms", "against"), [(10.5, "CPU_0"), (9.5, "CPU_1")])
def test_the_device_that_was_cut_may_be_another_than_the_verdicts(second_ms, against):
    verdict = decided(Bench({"trial 0": 5.0, "CPU_1": second_ms}), nulls=NULLS).verdict
    assert (verdict.against, verdict.null_device) == (against, "CPU_0")
    assert Verdict.from_json(verdict.to_json()) == verdict


def test_cuts_are_those_of_the_placement_where_the_baseline_is_on_another_device():
    bench = Bench({"trial 0": 5.0})
    decided(bench, [trial(0, 0.8, split(0, ("CPU_2", "CPU_1")))], nulls=NULLS)
    assert bench.asked[0][0][3].placement.device_of.tolist() == split(0).device_of.tolist()
    decided(bench, [trial(0, 0.8, split(0, ("CPU_1", "CPU_0")))], nulls=NULLS)
    assert bench.asked[0][0][3].placement.device_of.tolist() == (1 - split(0).device_of).tolist()


@pytest.mark.parametrize(
    ("best_ms", "null_ms", "said"), [(5.0, 8.0, True), (5.0, 10.0, False), (5.0, 12.0, False), (12.0, 8.0, False)]
)
def test_cuts_that_gain_are_mentioned_where_the_placement_is_faster(best_ms, null_ms, said):
    verdict = decided(Bench({"trial 0": best_ms, "null control": null_ms}), nulls=NULLS).verdict
    assert verdict.null_control is not None
    assert bool(verdict.notes) == said


@pytest.mark.parametrize("nulls", [{}, {"CPU_1": Device("CPU_1_NULL", "CPU")}])
def test_without_an_alias_of_the_baseline_cuts_are_not_measured(nulls):
    bench = Bench({"trial 0": 5.0})
    assert decided(bench, nulls=nulls).verdict.null_control is None
    assert bench.names == ["trial 0", "CPU_0", "CPU_1"]


def test_cuts_are_measured_beside_a_whole_device_only():
    halves = split(5, ("CPU_1", "CPU_0"))
    automatic = Baseline(Candidate("HETERO", target="HETERO:CPU_1"), Measurement((9.0,), (1,)), 0.9, True, halves)
    bench = Bench({"trial 0": 5.0})
    decided(bench, baselines=[*BASELINES, automatic], nulls=NULLS)
    assert bench.names == ["trial 0", "HETERO", "CPU_0"]
    both = {**NULLS, "CPU_1": Device("CPU_1_NULL", "CPU")}
    decided(bench, baselines=[*BASELINES, automatic], nulls=both)
    assert "null control" not in bench.names


def test_cuts_of_another_placement_than_the_answers_say_nothing():
    found = decided(
        Bench({"trial 0": 8.0, "trial 1": 5.0, "null control": 7.0}),
        [trial(0, 0.8), trial(1, 0.85)],
        nulls=NULLS,
        earlier_answer=split(1).hash,
    )
    assert (found.found.name, found.verdict.null_control, found.verdict.notes) == ("trial 1", None, ())


def test_a_round_without_the_placement_or_the_first_baseline_does_not_count():
    found = decided(Bench({"trial 0": [5.0, 5.0, None, None, 5.0, 5.0]}))
    assert (len(found.rounds), found.rounds.planned) == (2, 2)
    found = decided(Bench({"trial 0": 5.0, "CPU_1": None}))
    assert (len(found.rounds), found.rounds.planned, found.verdict.against) == (4, 4, "CPU_0")


def test_rounds_that_fail_leave_nothing_to_judge():
    found = decided(Bench({"trial 0": [5.0, None, None, None]}))
    assert found.verdict.notes == ("the final comparison failed too often to be judged (3 of 4: crash: lost)",)
    assert (found.origin, found.found, found.best) == ("CPU_0", None, ())
    assert [m.median_ms for m in found.measured(BASELINES[0])] == [10.0]


def test_after_three_rounds_that_all_failed_no_further_one_is_measured():
    for name in ("trial 0", "CPU_0"):
        bench = Bench({name: None, "CPU_1": None})
        found = decided(bench)
        assert bench.process == 2
        assert found.verdict.notes == ("the final comparison failed too often to be judged (3 of 3: crash: lost)",)


def test_a_placement_whose_outputs_are_too_far_off_in_any_round_is_not_the_answer():
    bench = Bench({"trial 0": 5.0})
    bench.errors = {"trial 0": [0.0, 0.0, 0.5, 0.0]}
    found = decided(bench, error_limit=0.1)
    assert found.verdict.notes == (
        "the outputs of the best placement were too far off in the final comparison "
        "(1 of 4: output_mismatch: relative output error 0.5, allowed is 0.1)",
    )
    assert (found.origin, found.found) == ("CPU_0", None)
    assert decided(bench, error_limit=0.6).verdict.status == "faster"


def test_an_earlier_answer_takes_the_place_of_a_placement_whose_outputs_are_too_far_off():
    bench = Bench({"trial 0": 5.0, "trial 1": 6.0})
    bench.errors = {"trial 0": [0.0, 0.0, 0.5, 0.0]}
    found = decided(bench, [trial(0, 0.5), trial(1, 0.6)], earlier_answer=split(1).hash, error_limit=0.1)
    assert (found.found.name, found.verdict.status) == ("trial 1", "faster")


def test_what_differs_still_in_further_rounds_is_called_unstable():
    found = decided(Bench({"trial 0": [5.0, 8.0]}))
    assert (len(found.rounds), found.rounds.planned) == (6, 4)
    assert found.verdict.notes == ("the placement is unstable: 5 to 8 ms in 6 processes",)
    moody = decided(Bench({"CPU_0": [10.0, 16.0]}), simulated="two-gpus")
    assert moody.verdict.notes == ("CPU_0 (simulated) is unstable: 10 to 16 ms in 6 processes",)
    calmer = decided(Bench({"trial 0": [5.0, 8.0, 5.0, 8.0, 5.0, 5.1]}))
    assert (len(calmer.rounds), calmer.verdict.notes) == (6, ())


@pytest.mark.parametrize(("limit_s", "rounds"), [(45.0, 4), (40.0, 4), (39.0, 3), (30.0, 3), (29.0, 2), (15.0, 2)])
def test_a_round_that_does_not_fit_is_not_begun_but_for_the_second(limit_s, rounds):
    found = decided(Bench({"trial 0": 9.0}, round_s=10.0), limit_s=limit_s)
    assert len(found.rounds) == rounds
    assert found.verdict.notes == ((f"the time sufficed for {rounds} rounds of the final comparison",) * (rounds < 4))


@pytest.mark.parametrize(("limit_s", "processes"), [(10.0, 1), (9.0, 1), (0.0, 0)])
def test_less_than_two_rounds_are_too_few(limit_s, processes):
    bench = Bench({"trial 0": 9.0}, round_s=10.0)
    found = decided(bench, limit_s=limit_s)
    assert bench.process + 1 == processes, "one was started in vain"
    assert found.verdict.notes == ("the final comparison had no time for two rounds; give it more time",)
    assert found.verdict.status == "baseline"


@pytest.mark.parametrize(
    ("limit_s", "samples"), [(float("inf"), (3, 2)), (200.0, (3, 2)), (90.0, (3, 1)), (60.0, (1, 1)), (20.0, (1, 1))]
)
def test_slow_candidates_are_timed_for_as_long_as_three_rounds_fit(limit_s, samples):
    slow = Measurement((1000.0,), (1,))
    baselines = [replace(baseline, measurement=slow) for baseline in BASELINES]
    bench = Bench({"trial 0": 900.0, "CPU_0": 1000.0, "CPU_1": 1100.0})
    decided(bench, [replace(TRIALS[0], measurement=slow)], baselines, limit_s=limit_s)
    assert {(spec.blocks, spec.repeats) for _, spec in bench.asked} == {samples}


def test_what_differs_in_few_rounds_is_unstable_where_there_is_no_time_for_more():
    found = decided(Bench({"trial 0": [5.0, 8.0]}, round_s=10.0), limit_s=39.0)
    cut = "the time sufficed for 3 rounds of the final comparison"
    assert found.verdict.notes == (cut, "the placement is unstable: 5 to 8 ms in 3 processes")


def test_time_that_is_left_is_for_more_rounds_of_the_same_plan():
    found = decided(Bench({"trial 0": 9.9}, round_s=10.0), limit_s=95.0)
    assert (len(found.rounds), found.rounds.planned) == (9, 9)


def test_a_plan_is_that_of_the_placement_in_later_calls_too():
    told = []
    with closing(RunStore(Path(":memory:"))) as store:
        first = decided(Bench({"trial 0": 9.9}, round_s=10.0), limit_s=95.0, store=store)
        again = decided(Bench({}), store=store, listener=told.append)
        other = decided(Bench({"trial 1": 9.9}), [trial(1, 0.8)], store=store)
    assert again.verdict == first.verdict
    assert {event.total for event in told if event.phase == "final comparison"} == {9}
    assert len(other.rounds) == 4


def test_the_look_at_a_gain_beyond_doubt_stays_where_it_was_configured():
    found = decided(Bench({"trial 0": 5.0}, round_s=10.0), limit_s=195.0, config=replace(ROUNDS, rounds=12))
    assert len(found.rounds) == 6


def test_without_anything_to_compare_it_is_said_why():
    tried = [replace(trial(0, float("inf")), measurement=LOST)]
    for trials, why in (([], "was tried"), (tried, "worked"), ([trial(0, 1.0, BASELINES[0].placement)], "was tried")):
        found = decided(Bench({}), trials)
        (note,) = found.verdict.notes
        assert note.startswith(f"no other placement {why}")
        assert (found.origin, found.placement.hash) == ("CPU_0", BASELINES[0].placement.hash)
