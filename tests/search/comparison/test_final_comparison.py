"""The verdict against a world whose truth is known."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ovplace.config.schema import ComparisonConfig
from ovplace.core.device import Device
from ovplace.core.measurement import ErrorKind, Measurement, Trial
from ovplace.core.partition import Partition
from ovplace.core.placement import Placement
from ovplace.search.comparison import judgement
from ovplace.search.comparison.final_comparison import decide
from ovplace.search.comparison.rounds import Rounds
from ovplace.search.staging import stages_over_hetero
from ovplace.session.baselines import measure_baselines
from ovplace.session.events import silent
from ovplace.session.measurer import Measurer
from ovplace.store.run_db import RunStore
from ovplace.testing.graphs import problem
from ovplace.testing.sessions import OPS, DirectPool, session

NAMES = ("CPU_0", "CPU_1")
COMPARISON = ComparisonConfig(rounds=4, blocks=10, repeats=1, min_time_ms=0.0)
BEST = {"CPU_0": 10.0, "CPU_1": 11.0}


class World:
    """Latencies with log-normal noise, part of it anew with each compilation."""

    def __init__(self, split, seed, between=0.03, within=0.02):
        self.split, self.rng = split, np.random.default_rng(seed)
        self.between, self.within = between, within
        self.compiled, self.processes, self.failures, self.blocks = {}, 1, {}, {}

    def fresh(self):
        self.compiled = {}
        self.processes += 1

    def truth(self, candidate):
        if candidate.placement is None:
            return 13.0
        return BEST.get(candidate.placement.used[0], 10.0) if candidate.placement.is_uniform else 10.0 * self.split

    def measure(self, candidates, spec):
        fastest = min(map(self.truth, candidates))
        hopeless = [self.truth(candidate) > spec.hopeless_ratio * fastest for candidate in candidates]
        measured = [self.one(c, spec.one_sample() if h else spec) for c, h in zip(candidates, hopeless, strict=True)]
        self.blocks.setdefault(spec.blocks, set()).update(len(m.blocks) for m in measured if m.ok)
        return measured

    def one(self, candidate, spec):
        if self.failures.get(candidate.hash, 0) > 0:
            self.failures[candidate.hash] -= 1
            return Measurement.failed(ErrorKind.CRASH, "lost")
        if candidate.hash not in self.compiled:
            self.compiled[candidate.hash] = self.truth(candidate) * np.exp(self.rng.normal(0, self.between))
        noise = np.exp(self.rng.normal(0, self.within, spec.blocks))
        return Measurement(tuple(self.compiled[candidate.hash] * noise), (1,) * spec.blocks)


def splits(count):
    """Return trials of different placements, each with the lucky ratio a search would have seen."""
    placements = (Placement((np.arange(OPS) > i).astype(int), NAMES) for i in range(count))
    return [Trial(i, p, Measurement((8.0,), (1,)), 0.8 + i / 100, "test") for i, p in enumerate(placements)]


def compared(world, trials=None, config=COMPARISON, nulls=(), partition=None, listener=silent):
    of = session(Path(), DirectPool(world.measure, world.fresh), comparison=config)
    of.nulls = dict(nulls)
    of.problem = problem(of.graph, partition=partition)
    store = RunStore(Path(":memory:"))
    measurer = Measurer(of, store)
    baselines = measure_baselines(measurer, of.config.measure, silent)
    found = decide(measurer, baselines, splits(5) if trials is None else trials, listener)
    store.close()
    return found


def statuses(split, count, **noise):
    return Counter(compared(World(split, seed, **noise)).verdict.status for seed in range(count))


def test_what_is_not_faster_is_hardly_ever_called_so():
    found = statuses(1.0, 60)
    assert found["faster"] <= 0.05 * 60
    assert found["same"] >= 0.9 * 60


def test_nor_when_only_compilations_differ():
    assert statuses(1.0, 60, between=0.05, within=0.0)["faster"] <= 0.05 * 60


@pytest.mark.slow
def test_nor_when_two_baselines_are_so_close_that_the_worse_may_look_better(monkeypatch):
    worlds = {"between": 0.04, "within": 0.02}
    found = statuses(1.0, 150, **worlds)
    assert found["faster"] <= 0.05 * 150
    monkeypatch.setattr(judgement, "CLOSE_RATIO", 1.0)  # only the one that looked best
    assert statuses(1.0, 150, **worlds)["faster"] > found["faster"]


def test_what_is_faster_is_called_so():
    assert statuses(0.8, 40) == {"faster": 40}


def test_a_large_gain_is_compared_with_baselines_that_are_timed_fully():
    world = World(0.2, 0)
    found = compared(world)
    assert found.verdict.ratio.low < 0.2 < found.verdict.ratio.high
    assert world.blocks[COMPARISON.blocks] == {COMPARISON.blocks}


def test_what_is_slower_is_never_the_answer():
    found = statuses(1.25, 40)
    assert found["baseline"] >= 38
    assert found["faster"] == 0


def test_the_answer_belongs_to_the_verdict():
    faster, slower = compared(World(0.8, 0)), compared(World(1.25, 0))
    assert not faster.placement.is_uniform
    assert faster.verdict.against in BEST
    assert slower.placement.used == ("CPU_0",)
    assert slower.origin == slower.verdict.against == "CPU_0"
    assert slower.verdict.ratio.low > 1


def test_a_comparison_that_is_surely_lost_ends_early():
    config = replace(COMPARISON, rounds=6)
    lost, close = (compared(World(split, 0), config=config) for split in (9.0, 1.25))
    assert (len(lost.best), len(close.best)) == (3, 6)
    assert lost.verdict.status == "baseline"
    assert lost.verdict.ratio.low < 9.0 < lost.verdict.ratio.high


def test_a_gain_beyond_doubt_ends_halfway_but_not_after_a_few_rounds():
    ends = {
        (split, rounds): len(compared(World(split, 0), config=replace(COMPARISON, rounds=rounds)).best)
        for split in (0.5, 0.93, 1.0)
        for rounds in (10, 12)
    }
    assert ends == {(0.5, 10): 10, (0.93, 10): 10, (1.0, 10): 10, (0.5, 12): 6, (0.93, 12): 12, (1.0, 12): 12}


def test_each_step_says_how_much_of_how_much_is_done():
    events = []
    compared(World(0.9, 0), config=replace(COMPARISON, race=10), listener=events.append)
    heats = [event for event in events if event.phase == "finalists"]
    assert heats[0].done == 0
    assert 0 < heats[-1].done <= heats[-1].total == 10
    rounds = [event for event in events if event.phase == "final comparison"]
    assert [event.done for event in rounds] == list(range(COMPARISON.rounds + 1))
    assert rounds[-1].text == "done"


def test_each_round_has_a_process_of_its_own():
    world = World(0.9, 0)
    found = compared(world, config=replace(COMPARISON, race=0))
    assert world.processes == 1 + COMPARISON.rounds
    against = found.rounds.of(found.verdict.against)
    assert set(map(id, found.best)).isdisjoint(map(id, against))
    assert len(found.best) == len(against) == COMPARISON.rounds
    assert all(len(m.blocks) == COMPARISON.blocks for m in found.best)


def test_what_differs_much_between_processes_is_measured_again_and_called_unstable():
    config = replace(COMPARISON, rounds=8)
    unstable, steady = (compared(World(0.6, 0, between=between), config=config) for between in (0.4, 0.02))
    assert len(unstable.best) == 12
    assert any("is unstable" in note for note in unstable.verdict.notes)
    assert len(steady.best) == 8
    assert not any("unstable" in note for note in steady.verdict.notes)


def test_each_baseline_that_was_compared_has_its_rounds():
    found = compared(World(0.8, 0))
    assert all(len(found.rounds.of(name)) == COMPARISON.rounds for name in BEST)


@pytest.mark.parametrize("seed", range(3))
def test_latencies_of_the_final_comparison_have_its_ratios(seed):
    found = compared(World(0.8, seed, between=0.2, within=0.1))
    best, against = found.rounds.latency(found.found.name), found.rounds.latency(found.verdict.against)
    assert best.value / against.value == pytest.approx(found.verdict.ratio.value)
    assert best.low < best.value < best.high


@pytest.mark.slow
def test_unstable_machines_do_not_make_it_rash():
    assert statuses(1.0, 200, between=0.14)["faster"] <= 0.05 * 200


def test_a_lost_round_is_tried_again():
    world, trials = World(0.8, 0), splits(1)
    world.failures[trials[0].placement.hash] = 2  # of the three attempts
    found = compared(world, trials)
    assert found.verdict.status == "faster"
    assert len(found.best) == COMPARISON.rounds


def test_finalists_that_do_not_work_again_leave_the_baseline():
    world, trials = World(0.8, 0), splits(2)
    world.failures = {t.placement.hash: 1000 for t in trials}
    found = compared(world, trials)
    assert (found.verdict.status, found.verdict.ratio) == ("baseline", None)
    text = "no other placement worked when the best were measured again (2 of 2: crash: lost)"
    assert found.verdict.notes == (text,)
    assert set(found.failed) == set(world.failures)


def test_where_nothing_worked_the_usual_reason_is_named():
    kinds = (ErrorKind.CRASH, ErrorKind.COMPILE, ErrorKind.COMPILE)
    failed = [
        replace(trial, measurement=Measurement.failed(kind, f"{kind}, it said"), ratio=np.inf)
        for trial, kind in zip(splits(3), kinds, strict=True)
    ]
    verdict = compared(World(0.8, 0), failed).verdict
    assert "no other placement worked (2 of 3: compile: compile, it said)" in verdict.notes


def test_trials_of_nothing_but_baselines_are_not_called_failures():
    alone = Placement.uniform(OPS, NAMES[1], NAMES)
    for trials in ([], [Trial(0, alone, Measurement((11.0,), (1,)), 1.1, "test")]):
        verdict = compared(World(0.8, 0), trials).verdict
        assert (verdict.status, verdict.ratio) == ("baseline", None)
        assert "no other placement was tried" in verdict.notes


def test_a_finalist_that_is_lost_in_the_final_comparison_leaves_the_baseline():
    world, trials = World(0.8, 0), splits(1)
    asked = []

    def measure(candidates, spec):
        asked.append(candidates)
        final = world.processes > 1 and any(c.name.startswith("trial") for c in candidates)
        if final:
            return [Measurement.failed(ErrorKind.CRASH, "lost")] * len(candidates)
        return world.measure(candidates, spec)

    of = session(Path(), DirectPool(measure, world.fresh), comparison=COMPARISON)
    store = RunStore(Path(":memory:"))
    measurer = Measurer(of, store)
    found = decide(measurer, measure_baselines(measurer, of.config.measure, silent), trials, silent)
    assert found.verdict.status == "baseline"
    assert "failed too often" in found.verdict.notes[0]
    assert found.failed == [trials[0].placement.hash]
    store.close()


def test_no_trials_leave_the_baseline():
    found = compared(World(0.8, 0), [])
    assert (found.verdict.status, found.origin) == ("baseline", "CPU_0")


def test_a_model_that_cannot_be_divided_leaves_nothing_to_try():
    whole = Partition(np.zeros(OPS, dtype=int))
    assert compared(World(0.8, 0), [], partition=whole).verdict.notes[-1] == "there was nothing else to try"
    assert compared(World(0.8, 0), []).verdict.notes[-1] == "no other placement was tried"


def test_finalists_that_the_search_ran_in_stages_are_compared_with_hetero():
    of = session(Path(), DirectPool(World(0.8, 0).measure), comparison=COMPARISON)
    store = RunStore(Path(":memory:"))
    measurer = Measurer(of, store)
    baselines = measure_baselines(measurer, of.config.measure, silent)
    plain, staged = splits(2)
    staged = replace(staged, measurement=replace(staged.measurement, stages_ms=(4.0, 4.0)))
    decide(measurer, baselines, [plain, staged], silent)
    assert list(stages_over_hetero(store)) == ["trial 1"]
    store.close()


def test_a_baseline_found_by_the_search_is_no_finalist():
    uniform = Placement.uniform(OPS, "CPU_1", NAMES)
    verdict = compared(World(0.8, 0), [replace(splits(1)[0], placement=uniform, ratio=0.5)]).verdict
    assert (verdict.status, verdict.ratio) == ("baseline", None)


def test_failed_trials_are_no_finalists():
    failed = [replace(t, measurement=Measurement.failed(ErrorKind.COMPILE, "x"), ratio=float("inf")) for t in splits(3)]
    assert compared(World(0.8, 0), failed).verdict.ratio is None


def test_the_null_control_shows_what_cutting_alone_does():
    nulls = {"CPU_0": Device("CPU_0_NULL", "CPU")}
    verdict = compared(World(0.8, 0), nulls=nulls).verdict
    # In this world every cut costs 0.8 times the whole, whatever the devices.
    assert verdict.null_control.high < 1
    assert "cutting the model at the same places" in verdict.notes[0]
    none = compared(World(0.8, 0), nulls=nulls, config=replace(COMPARISON, null_control=False)).verdict
    assert none.null_control is None


@pytest.mark.parametrize("rounds", [2, 3])
def test_few_rounds_do_not_make_it_rash(rounds):
    config = replace(COMPARISON, rounds=rounds)
    found = Counter(compared(World(1.0, seed), config=config).verdict.status for seed in range(40))
    assert found["faster"] <= 0.05 * 40


def test_the_fastest_of_the_baselines_is_the_answer_even_if_another_one_is_less_certain():
    def samples(latency_ms):
        return Measurement((latency_ms,) * 3, (1,) * 3)

    measured = [
        {"best": samples(20.0 * best), "steady": samples(10.0), "noisy": samples(10.0 * noisy)}
        for best, noisy in ((1.0, 1.4), (1.01, 0.9), (0.99, 1.2))
    ]
    against, ratio = judgement.hardest_to_beat(Rounds(tuple(measured), 3), "best", ["steady", "noisy"])
    assert against == "steady"
    assert ratio.low > 1
