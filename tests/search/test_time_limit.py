"""A call ends in time, whichever of its phases is the slow one, by a clock that only measuring moves."""

from __future__ import annotations

from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ovplace.config.schema import RIGOROUS_ROUNDS, ComparisonConfig, RunConfig, SearchConfig
from ovplace.core.measurement import ErrorKind, Measurement, MeasureSpec, Trial
from ovplace.core.partition import Partition
from ovplace.core.placement import Placement
from ovplace.errors import BackendError
from ovplace.ir.parts.link_model import save_link_model
from ovplace.profiling.links import PIECES, LinkBench
from ovplace.profiling.obtain import obtain_costs
from ovplace.search import explore as explore_module
from ovplace.search.explore import explore, make_loop
from ovplace.search.run import run
from ovplace.search.time_limit import expected_s, time_notes, with_time_left
from ovplace.session.baselines import measure_baselines
from ovplace.session.deadline import GRACE_S, Phase, TimeBudget
from ovplace.session.events import Progress, silent
from ovplace.session.measurer import Measurer
from ovplace.store.run_db import RunStore
from ovplace.testing.graphs import problem
from ovplace.testing.sessions import OPS, DirectPool, direct, session

LIMIT_S = 100.0
SPEC = MeasureSpec(deadline_s=300.0)
COMPARISON = ComparisonConfig(rounds=6, blocks=3, repeats=1, min_time_ms=0.0)


class World:
    """The fake backend on a machine where measuring takes time: `cost_s` of each candidate, or what is left."""

    def __init__(self, cost_s, **fake):
        self.cost_s, self.real, self.now, self.longest_s, self.asked = cost_s, direct(**fake), 1000.0, 0.0, []

    def clock(self):
        return self.now

    def measure(self, candidates, spec):
        needed_s = sum(self.cost_s(candidate, spec) for candidate in candidates)
        spent_s = min(needed_s, spec.deadline_s)
        self.now += spent_s
        self.longest_s = max(self.longest_s, spent_s)
        self.asked += [candidate.name for candidate in candidates]
        if needed_s > spec.deadline_s:
            return [Measurement.failed(ErrorKind.TIMEOUT, "no answer")] * len(candidates)
        return self.real.measure(candidates, spec)


def measurer(world, store, limit_s=LIMIT_S, **search):
    of = session(
        Path(),
        DirectPool(world.measure),
        spec=SPEC,
        comparison=COMPARISON,
        **{"placer": "random", "budget": 50, **search},
    )
    return Measurer(of, store, time=TimeBudget(world.now, limit_s, clock=world.clock))


@pytest.fixture
def store():
    opened = RunStore(Path(":memory:"))
    yield opened
    opened.close()


def is_split(candidate):
    return candidate.placement is not None and not candidate.placement.is_uniform


def on(device):
    return lambda candidate: candidate.placement is not None and candidate.placement.used == (device,)


SLOW = {
    "baselines": lambda c, spec: 30.0 if on("CPU_1")(c) or c.target else 1.0,
    "one baseline": lambda c, spec: 500.0 if on("CPU_1")(c) else 1.0,
    "automatic modes": lambda c, spec: 500.0 if c.target else 1.0,
    "search": lambda c, spec: 11.0 if is_split(c) else 0.5,
    "one placement": lambda c, spec: 500.0 if is_split(c) and int(c.hash[:2], 16) % 4 == 0 else 0.5,
    "final comparison": lambda c, spec: 8.0 if spec.blocks == COMPARISON.blocks and spec.repeats == 1 else 0.2,
    "everything": lambda c, spec: 7.0,
    "nothing": lambda c, spec: 0.2,
}


@pytest.mark.parametrize("slow", SLOW)
def test_the_call_ends_in_time_or_one_measurement_later(store, slow):
    world = World(SLOW[slow], split=0.5)
    found = explore(measurer(world, store), silent)
    assert world.now - 1000.0 <= LIMIT_S + world.longest_s
    assert found.baselines[0].measurement.ok
    assert found.comparison.placement is not None


@pytest.mark.parametrize("slow", ["search", "one placement", "final comparison", "nothing"])
def test_there_is_a_verdict_where_anything_was_found(store, slow):
    found = explore(measurer(World(SLOW[slow], split=0.5), store), silent)
    assert found.trials
    assert found.comparison.verdict.ratio is not None
    assert found.comparison.verdict.status == "faster"


def test_a_shortened_call_says_so(store):
    found = explore(measurer(World(SLOW["final comparison"], split=0.5), store), silent)
    rounds = len(found.comparison.best)
    assert 2 <= rounds < COMPARISON.rounds
    assert f"the time sufficed for {rounds} rounds of the final comparison" in found.comparison.verdict.notes


@pytest.mark.parametrize("slow", SLOW)
def test_the_time_left_never_exceeds_the_limit(store, slow):
    world, events = World(SLOW[slow], split=0.5), []
    explore(measurer(world, store), lambda event: events.append((event, LIMIT_S + 1000.0 - world.now)))
    assert {event.phase for event, _ in events} >= {"baselines"}
    assert all(event.call_s == left_s for event, left_s in events)
    later_s = [event.later_s for event, _ in events if event.phase != "baselines"]
    assert all(0 <= seconds < LIMIT_S for seconds in later_s)


def test_a_search_that_was_cut_short_says_so(store):
    found = explore(measurer(World(SLOW["search"], split=0.5), store), silent)
    assert f"the search was cut short after {len(found.trials)} of 50 placements" in found.comparison.verdict.notes


@pytest.mark.parametrize(("estimated", "said"), [(4, True), (3, False)])
def test_a_profile_that_was_cut_short_says_so(store, estimated, said):
    of = measurer(World(SLOW["nothing"], split=0.5), store)
    trials = explore(of, silent).trials
    found = time_notes(of, trials, {"estimated": estimated, "measured": 2, "failed": 1}, cut=False)
    text = f"profiling was cut short, 2 of {estimated + 3} parts were timed; expect a weak result"
    assert (text in found) == said


def test_a_profile_of_nothing_but_estimates_was_cut_short(store):
    of = measurer(World(SLOW["nothing"], split=0.5), store)
    found = time_notes(of, explore(of, silent).trials, {"estimated": 1}, cut=False)
    assert found[0] == "profiling was cut short, 0 of 1 parts were timed; expect a weak result"


@pytest.mark.parametrize(
    ("budget", "left_s", "said"), [(50, 90.0, True), (50, 11.0, True), (50, 10.0, False), (51, 90.0, False)]
)
def test_a_budget_that_ends_before_the_time_does_says_so(store, budget, left_s, said):
    world = World(SLOW["nothing"], split=0.5)
    of = measurer(world, store, budget=budget)
    trials = [Trial(i, Placement.uniform(OPS, "CPU_0"), Measurement((1.0,), (1,)), 1.0, "t") for i in range(50)]
    world.now += LIMIT_S - left_s
    ended = f"the search had used its budget of 50 placements, {left_s:.0f} s before the time was up"
    assert time_notes(of, trials, None, cut=False) == (f"{ended}; a larger budget uses the rest",) * said
    cut_short = f"the search was cut short after 50 of {budget} placements"
    assert time_notes(of, trials, {}, cut=True) == (cut_short,) * (budget > 50)


def test_the_budget_is_not_spent_by_placements_that_were_measured_before(store):
    of = measurer(World(SLOW["nothing"], split=0.5), store, budget=50)
    trials = [Trial(i, Placement.uniform(OPS, "CPU_0"), Measurement((1.0,), (1,)), 1.0, "t", i > 9) for i in range(70)]
    assert time_notes(of, trials, None, cut=False) == ()
    assert time_notes(of, trials, None, cut=True) == ("the search was cut short after 10 of 50 placements",)


def test_a_search_that_only_its_time_limits_is_not_cut_short(store):
    of = measurer(World(SLOW["nothing"], split=0.5), store, budget=None, time_s=LIMIT_S)
    trials = [Trial(i, Placement.uniform(OPS, "CPU_0"), Measurement((1.0,), (1,)), 1.0, "t") for i in range(70)]
    assert time_notes(of, trials, None, cut=True) == time_notes(of, trials, None, cut=False) == ()
    assert expected_s(of.session, measure_baselines(of, SPEC, silent))[0] == float("inf")


def test_a_call_without_a_limit_or_anything_to_place_is_not_cut_short(store):
    world = World(SLOW["nothing"])
    assert time_notes(measurer(world, store, limit_s=float("inf")), [], None, cut=True) == ()
    of = measurer(world, store)
    assert time_notes(of, [], None, cut=True) == ("there was no time to measure a placement; give a longer time limit",)
    assert time_notes(of, [], None, cut=False) == ()  # the placer knew none
    of.session.problem = problem(of.session.graph, partition=Partition(np.zeros(OPS, dtype=int)))
    assert time_notes(of, [], None, cut=True) == ()


def test_time_that_is_left_is_spent_on_more_rounds(store):
    found = explore(measurer(World(lambda c, spec: 0.2, split=0.5), store, budget=3), silent)
    assert len(found.comparison.best) == RIGOROUS_ROUNDS > COMPARISON.rounds
    with closing(RunStore(Path(":memory:"))) as other:
        unlimited = measurer(World(lambda c, spec: 0.2, split=0.5), other, float("inf"), budget=3)
        assert len(explore(unlimited, silent).comparison.best) == COMPARISON.rounds


def test_the_number_of_rounds_follows_the_duration_of_the_first_one(store):
    found = explore(measurer(World(lambda c, spec: 2.0, split=0.5), store, budget=3), silent)
    assert COMPARISON.rounds < len(found.comparison.best) < RIGOROUS_ROUNDS
    assert not any("the time sufficed" in note for note in found.comparison.verdict.notes)


def test_a_search_that_ended_early_says_so(store):
    found = explore(measurer(World(lambda c, spec: 0.01, split=0.5), store, budget=3), silent)
    assert any("had used its budget of 3 placements" in note for note in found.comparison.verdict.notes)


def test_a_search_that_finds_nothing_uses_the_time_kept_for_the_comparison(store, monkeypatch):
    references = []

    def made(of, reference, *rest):
        loop = make_loop(of, reference, *rest)
        loop.requests.notes[f"machine {len(references)}"] = "it is slow"
        references.append(reference.name)
        return loop

    monkeypatch.setattr(explore_module, "make_loop", made)
    world = World(lambda c, spec: 3.0, fault="fail")
    found = explore(measurer(world, store, budget=500), silent)
    assert all(trial.placement.is_uniform for trial in found.trials if trial.measurement.ok)
    assert any("no other placement worked" in note for note in found.comparison.verdict.notes)
    assert LIMIT_S - 10.0 < world.now - 1000.0 <= LIMIT_S + world.longest_s
    assert len(references) > 1
    assert set(references) == {"CPU_0"}
    assert len(found.aside) == len(references)


def test_the_first_placement_found_in_that_time_ends_the_search(store):
    world, good = World(lambda c, spec: 2.0, fault="fail"), direct(split=0.5)
    failing = world.real

    def measure(candidates, spec):
        return (good if world.now > 1080.0 else failing).measure(candidates, spec)

    world.real = DirectPool(measure)
    found = explore(measurer(world, store, budget=500), silent)
    assert sum(is_split(trial.candidate) and trial.measurement.ok for trial in found.trials) == 1
    assert found.comparison.verdict.status == "faster"


def test_a_call_that_measured_baselines_only_answers_with_the_best(store):
    placed = World(lambda c, spec: 500.0 if c.name.startswith("trial") else 1.0)
    found = explore(measurer(placed, store), silent)
    assert not found.trials
    assert found.comparison.origin == "CPU_0"
    assert any("was no time to measure a placement" in note for note in found.comparison.verdict.notes)


def test_a_baseline_without_time_is_listed_and_measured_by_a_later_call(store):
    world = World(SLOW["one baseline"])
    found = explore(measurer(world, store), silent)
    missing = [b for b in found.baselines if not b.measurement.ok]
    assert "CPU_1" in [b.name for b in missing]
    assert all("within the time of the call" in b.measurement.error_text for b in missing)
    world.cost_s = SLOW["nothing"]
    again = explore(measurer(world, store), silent)
    assert all(b.measurement.ok for b in again.baselines)


def test_a_baseline_that_crashed_once_is_measured_again(store, monkeypatch):
    world = World(SLOW["nothing"])
    crash, real = [Measurement.failed(ErrorKind.CRASH, "gone")], world.measure
    answers = iter([crash, crash])
    monkeypatch.setattr(world, "measure", lambda candidates, spec: next(answers, None) or real(candidates, spec))
    found = explore_module.limiting_baselines(measurer(world, store), silent)
    assert [(b.name, b.measurement.ok) for b in found[:2]] == [("CPU_0", True), ("CPU_1", True)]


def test_a_call_that_continues_times_placements_beside_the_device_that_it_began_with(store, monkeypatch):
    world = World(lambda c, spec: 500.0 if c.name == "CPU_1" else 0.5)
    real = world.measure

    def measure(candidates, spec):
        found = zip(candidates, real(candidates, spec), strict=True)
        return [replace(m, samples_ms=(4.0,), blocks=(1,)) if on("CPU_1")(c) and m.ok else m for c, m in found]

    monkeypatch.setattr(world, "measure", measure)
    first = explore(measurer(world, store, budget=20), silent)
    world.cost_s = SLOW["nothing"]
    again = explore(measurer(world, store, budget=60), silent)
    assert [(b.name, b.ratio) for b in again.baselines[:2]] == [("CPU_0", 1.0), ("CPU_1", 0.4)]
    assert len(again.trials) > len(first.trials) > 1
    assert all(trial.reference_ms == pytest.approx(10.0) for trial in again.trials)
    assert again.comparison.verdict.against == "CPU_1"


def test_single_samples_do_not_stand_for_measurements_in_turns(store):
    world = World(lambda c, spec: 500.0 if spec.blocks > 1 else 1.0)
    first = explore_module.limiting_baselines(measurer(world, store), silent)
    assert all(b.measurement.ok and len(b.measurement.blocks) == 1 for b in first[:2])
    world.cost_s = SLOW["nothing"]
    again = explore_module.limiting_baselines(measurer(world, store), silent)
    assert all(len(b.measurement.blocks) == SPEC.blocks for b in again[:2])


def test_a_device_that_cannot_run_the_whole_model_does_not_cost_the_automatic_modes(store, monkeypatch):
    world = World(SLOW["nothing"])
    real = world.measure

    def refused(candidates, spec):
        if any(on("CPU_1")(candidate) for candidate in candidates):
            return [Measurement.failed(ErrorKind.COMPILE, "an operation is not supported")] * len(candidates)
        return real(candidates, spec)

    monkeypatch.setattr(world, "measure", refused)
    found = explore_module.limiting_baselines(measurer(world, store), silent)
    assert {b.name for b in found if b.measurement.error} == {"CPU_1"}
    assert sum(b.name.startswith("HETERO") for b in found) == 2


def test_the_first_device_gets_the_time_it_needs(store):
    world = World(lambda c, spec: 45.0)
    found = explore(measurer(world, store, limit_s=10.0), silent)
    assert found.comparison.origin == "CPU_0"
    assert world.now - 1000.0 == 45.0


def test_without_any_baseline_there_is_no_answer(store):
    with pytest.raises(BackendError, match="no single device runs the model"):
        explore(measurer(World(lambda c, spec: 500.0), store, limit_s=10.0), silent)


def test_an_unlimited_call_measures_everything(store):
    world = World(SLOW["search"], split=0.5)
    found = explore(measurer(world, store, limit_s=float("inf"), budget=20), silent)
    assert len(found.trials) >= 20
    assert len(found.comparison.best) == COMPARISON.rounds
    assert not found.comparison.verdict.notes


def test_a_placement_without_time_is_no_trial_and_the_next_call_asks_for_it(store):
    world = World(SLOW["search"], split=0.5)
    first = explore(measurer(world, store), silent)
    assert all(t.measurement.ok for t in first.trials)
    second = explore(measurer(world, store), silent)
    assert [t.number for t in second.trials] == list(range(len(second.trials)))
    assert len(second.trials) > len(first.trials)


@pytest.mark.slow
@pytest.mark.parametrize("placer", ["min_cut", "random"])
def test_a_real_call_ends_in_time(tmp_path, monkeypatch, placer):
    monkeypatch.setenv("OVPLACE_CACHE", str(tmp_path / "cache"))
    config = RunConfig(search=SearchConfig(model="models/demo.xml", time_s=25.0, placer=placer))
    found = run(config, tmp_path / "run")
    longest_s = 15.0  # one round of the final comparison with the emulated GPU, on two busy cores
    assert found.search.seconds.total <= 25.0 + longest_s
    assert found.baselines[0].latency_ms is not None
    assert (tmp_path / "run" / "placement.json").is_file()


@pytest.mark.parametrize("cost_s", [0.05, 2.0, 500.0])
def test_the_profile_ends_in_time(store, tmp_path, monkeypatch, cost_s):
    monkeypatch.setenv("OVPLACE_CACHE", str(tmp_path))
    world = World(lambda c, spec: cost_s if c.part else 0.1)
    n, pieces = save_link_model(tmp_path / "links.xml", PIECES)
    links = World(lambda c, spec: cost_s, ops=n)

    def measure(candidates, spec):
        links.now = world.now
        measured = links.measure(candidates, spec)
        world.now, world.longest_s = links.now, max(world.longest_s, links.longest_s)
        return measured

    @contextmanager
    def open_links(of):
        yield LinkBench(n, pieces, of.problem.device_names), DirectPool(measure)

    of = measurer(world, store, placer="min_cut")
    baselines = measure_baselines(of, SPEC, silent)
    of.enter(Phase.PROFILE)
    left_s = of.deadline.left_s
    start = world.now
    found = obtain_costs(of, baselines, silent, open_links)
    assert world.now - start <= left_s + max(GRACE_S, world.longest_s)
    assert found.table.n_groups == OPS


def test_a_step_says_what_is_left_of_its_phase_and_of_the_call(store):
    of = measurer(World(SLOW["nothing"]), store)
    of.time = of.time.expecting(30.0, 20.0)
    of.enter(Phase.SEARCH)
    told = []
    listener = with_time_left(told.append, of)
    listener(Progress("search", 3, text="0.9"))
    listener(Progress("search", phase_s=5.0))
    # A quarter of the limit is kept for the comparison, which is expected to take 20 s.
    assert told[0] == Progress("search", 3, text="0.9", phase_s=75.0, later_s=20.0, call_s=100.0)
    assert told[1].phase_s == 5.0
