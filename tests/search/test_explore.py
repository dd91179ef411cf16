"""Baselines, profile, search and comparison put together: what each is given, and what becomes of what it finds."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ovplace.core.accuracy import NOT_FINITE
from ovplace.core.measurement import ErrorKind, Measurement
from ovplace.core.partition import Partition
from ovplace.errors import BackendError, DivergedError, UsageError
from ovplace.plugins import registry
from ovplace.profiling.obtain import Costs
from ovplace.search import explore as explore_module
from ovplace.search.comparison.final_comparison import decide
from ovplace.search.explore import explore, make_loop
from ovplace.search.loop import Budget, Loop
from ovplace.search.requests import LocalRequests
from ovplace.session.baselines import measure_baselines
from ovplace.session.deadline import Deadline, Phase, TimeBudget
from ovplace.session.events import silent
from ovplace.session.measurer import Measurer
from ovplace.store.run_db import RunStore
from ovplace.testing import fake_backend
from ovplace.testing.graphs import costs as random_costs
from ovplace.testing.graphs import problem
from ovplace.testing.sessions import OPS, QUICK, direct, session


def noting(calls, act):
    """Return a function that does the same, and notes what it is given."""

    def noted(*given):
        calls.append(given)
        return act(*given)

    return noted


@pytest.fixture
def exploring():
    """Return a function that gives the measurer of a run on the fake backend, always of one store."""
    store = RunStore(Path(":memory:"))

    def make(**search):
        return Measurer(session(Path(), direct(split=0.5), **{"placer": "random", "budget": 4, **search}), store)

    yield make
    store.close()


@pytest.fixture
def costs(monkeypatch):
    """Let the profile be ready; return it."""
    table = random_costs(problem(session(Path(), direct()).graph), seed=5)
    found = Costs(table, {"measured": 3})
    monkeypatch.setattr(explore_module, "obtain_costs", lambda *_: found)
    return found


def test_a_search_finds_trials_and_counts_its_time(exploring):
    measurer = exploring()
    found = explore(measurer, silent)
    assert [trial.number for trial in found.trials] == [0, 1, 2, 3]
    assert (found.session, found.seconds) == (measurer.session, measurer.seconds)
    assert (found.costs, found.certificate, found.info, found.aside) == (None, None, {}, {})
    assert (found.comparison.verdict.status, found.comparison.verdict.notes) == ("faster", ())
    seconds = measurer.seconds
    assert all(0 < spent < 60 for spent in (seconds.baselines, seconds.search, seconds.comparison))
    assert seconds.profiling == 0.0


def test_a_placer_that_works_with_costs_gets_those_of_the_profile(exploring, costs, monkeypatch):
    real = registry.load("placers", "min_cut")
    placer: Any = real.factory
    seen, limits = [], []

    class Spy(placer):
        def __init__(self, of, config):
            seen.append(of)
            super().__init__(of, config)

        def certificate(self, time_limit_s):
            limits.append(time_limit_s)
            return super().certificate(time_limit_s)

    monkeypatch.setattr(real.module, "Placer", Spy)
    compared = []
    monkeypatch.setattr(explore_module, "decide", noting(compared, decide))
    measurer = exploring(placer="min_cut")
    measurer.time = TimeBudget(0.0, 1e6, clock=lambda: 0.0)
    found = explore(measurer, silent, "an earlier answer")
    assert compared[0][-2:] == (costs.table, "an earlier answer")
    assert seen[0].costs is costs.table
    assert seen[0].graph is measurer.session.graph
    assert (found.costs, found.certificate.solver, limits) == ({"measured": 3}, "min_cut", [1e5])
    assert 0 < measurer.seconds.profiling < 60


def test_a_placer_that_needs_no_costs_gets_the_problem_as_it_is(exploring, monkeypatch):
    def refuse(*_):
        raise BackendError("no profile is needed")

    monkeypatch.setattr(explore_module, "obtain_costs", refuse)
    assert len(explore(exploring(), silent).trials) == 4


def test_a_search_that_cannot_gain_is_left_out_and_says_why(exploring, costs, monkeypatch):
    measurer = exploring(placer="min_cut", budget=1)
    earlier = explore(measurer, silent)
    assert len(earlier.trials) == 1
    asked = []
    monkeypatch.setattr(explore_module, "why_hopeless", noting(asked, lambda *_: "it is hopeless"))
    measurer = exploring(placer="min_cut", budget=9)
    measurer.time = TimeBudget(0.0, 1e6, clock=lambda: 0.0)
    found = explore(measurer, silent)
    assert [trial.number for trial in found.trials] == [0], "those of an earlier call"
    assert found.comparison.verdict.notes == ("it is hopeless",)
    assert found.costs == {"measured": 3}
    assert [(baselines[0].name, *given) for _, baselines, *given in asked] == [("CPU_0", costs, 1e5)]


def test_numbers_of_numpy_are_kept_as_those_of_python(exploring, monkeypatch):
    module: Any = registry.load("placers", "random").module
    monkeypatch.setattr(module.Placer, "info", {"loss": np.float32(0.5), "updates": 3})
    assert json.dumps(explore(exploring(), silent).info) == '{"loss": 0.5, "updates": 3}'


@pytest.mark.parametrize(
    ("name", "given", "told"),
    [
        ("info", {"loss": "small"}, "ValueError: could not convert string to float: 'small'"),
        ("info", 3, "AttributeError: 'int' object has no attribute 'items'"),
        ("notes", "all of it", "TypeError: notes must be a sequence of strings, got 'all of it'"),
        ("notes", [3], r"TypeError: notes must be a sequence of strings, got \[3\]"),
        ("certificate", lambda *_: 3.0, r"TypeError: certificate\(\) returned float in place of a Certificate"),
        ("asynchronous", property(lambda _: 1 // 0), "ZeroDivisionError: integer division or modulo by zero"),
        ("ends", property(lambda _: 1 // 0), "ZeroDivisionError: integer division or modulo by zero"),
    ],
)
def test_a_placer_that_tells_what_no_result_can_hold_is_named(exploring, monkeypatch, name, given, told):
    module: Any = registry.load("placers", "random").module
    monkeypatch.setattr(module, "Placer", type("Placer", (module.Placer,), {"__module__": "theirs", name: given}))
    if name == "ends":
        monkeypatch.setattr("ovplace.search.loop.IDLE", 0)  # it is asked at once
    with pytest.raises(UsageError, match=rf"^the placer 'random' failed: {told}; correct theirs"):
        explore(exploring(), silent)


def test_a_policy_that_has_diverged_is_noted(exploring, monkeypatch):
    def diverge(_):
        raise DivergedError

    monkeypatch.setattr(Loop, "_search", diverge)
    assert str(DivergedError()) in explore(exploring(), silent).comparison.verdict.notes


def test_what_is_noticed_of_machines_follows_the_notes_of_the_comparison(exploring, monkeypatch):
    asked = []
    monkeypatch.setattr(
        explore_module, "LocalRequests", lambda *given: LocalRequests(*given, notes={"box": "it is slow"})
    )
    monkeypatch.setattr(explore_module, "busy_notes", noting(asked, lambda *_: ("it was busy",)))
    measurer = exploring()
    measurer.time = replace(measurer.time, limit_s=1e6)
    found = explore(measurer, silent)
    assert found.aside == {"box": "it is slow"}
    *_, budget, busy, aside = found.comparison.verdict.notes
    assert budget.startswith("the search had used its budget of 4 placements")
    assert (busy, aside) == ("it was busy", "machine 'box' was set aside: it is slow")
    assert [(name, len(trials)) for name, trials in asked] == [("CPU_0", 4)]


def test_each_phase_is_entered_when_it_begins(exploring, monkeypatch):
    entered: list[Any] = []
    monkeypatch.setattr(Measurer, "enter", noting(entered, Measurer.enter))
    explore(exploring(), silent)
    assert [phase for _, phase in entered] == list(Phase)


def test_what_cannot_be_divided_is_not_searched(exploring, costs):
    measurer = exploring(placer="min_cut")
    measurer.session.problem = problem(measurer.session.graph, partition=Partition(np.zeros(OPS, dtype=int)))
    found = explore(measurer, silent)
    assert (list(found.trials), found.costs, found.certificate) == ([], None, None)
    assert found.comparison.verdict.notes == ("there was nothing else to try",)


def test_a_short_time_is_enough_where_measuring_takes_none(exploring):
    measurer = exploring()
    measurer.time = TimeBudget(0.0, 1.3, clock=lambda: 0.0)
    assert len(explore(measurer, silent).trials) == 4


@pytest.mark.parametrize(
    ("left_s", "measured", "said"), [(0.0, 3, "was cut short after 3 of 4"), (0.5, 4, "had used its budget of 4")]
)
def test_a_search_is_cut_short_when_no_time_is_left(exploring, monkeypatch, left_s, measured, said):
    def ending(measurer, *given):
        loop = make_loop(measurer, *given)
        loop.budget, run = Budget(measured), loop.run

        def run_to_the_end():
            trials = run()
            measurer.deadline = Deadline(left_s, clock=lambda: 0.0)
            return trials

        monkeypatch.setattr(loop, "run", run_to_the_end)
        return loop

    monkeypatch.setattr(explore_module, "make_loop", ending)
    measurer = exploring()
    measurer.time = TimeBudget(0.0, 1e6, clock=lambda: 0.0)
    assert said in explore(measurer, silent).comparison.verdict.notes[-1]


def test_steps_are_told_with_labels_and_the_time_left(exploring):
    measurer, told = exploring(), []
    measurer.session.selection = replace(measurer.session.selection, simulated="two-gpus")
    measurer.time = replace(measurer.time, limit_s=1e6)
    explore(measurer, told.append)
    assert "the best single device is CPU_0 (simulated)" in {event.text for event in told}
    assert all(0 < event.call_s <= 1e6 for event in told)
    assert {(event.phase, event.reference) for event in told} >= {("baselines", ""), ("search", "CPU_0 (simulated)")}


@pytest.mark.parametrize(
    ("asked", "can", "staged"), [(True, True, True), (True, False, False), (False, True, False), (False, False, False)]
)
def test_placements_run_in_stages_where_that_is_asked_for_and_the_backend_can(
    exploring, monkeypatch, asked, can, staged
):
    monkeypatch.setattr(fake_backend.Backend, "runs_stages", can)
    measurer = exploring(stages=asked, batch=3)
    baselines = measure_baselines(measurer, QUICK, silent)
    loop = make_loop(measurer, baselines[0], silent)
    requests: Any = loop.requests
    assert (requests.staging.wanted, requests.reference) == (staged, replace(baselines[0].candidate, reference=True))
    assert (loop.budget, loop.origin, loop.listener) == (Budget(4, 3), "random", silent)


def test_placements_are_timed_for_less_long_than_baselines_and_stages_against_hetero(exploring):
    measurer = exploring()
    spec = replace(QUICK, blocks=3, min_time_ms=2.0)
    measurer.session.config = replace(measurer.session.config, measure=spec)
    requests: Any = make_loop(measurer, measure_baselines(measurer, QUICK, silent)[0], silent).requests
    assert requests.spec == replace(QUICK, blocks=2, min_time_ms=1.0)
    assert requests.staging.spec == spec


def test_notes_mark_simulated_devices(exploring, monkeypatch):
    of = exploring()
    of.session.selection = replace(of.session.selection, simulated="two-gpus")
    failed = Measurement.failed(ErrorKind.OUTPUT_MISMATCH, "wrong")
    baselines = measure_baselines(of, QUICK, silent)
    wrong = [baselines[0], replace(baselines[1], measurement=failed)]
    monkeypatch.setattr(explore_module, "limiting_baselines", lambda *_: wrong)
    monkeypatch.setattr(explore_module, "busy_notes", lambda name, _: (f"{name} was slow",))
    monkeypatch.setattr(explore_module, "mismatch_notes", lambda _, names: (f"{', '.join(names)} differ",))
    monkeypatch.setattr(explore_module, "inexact_notes", lambda _, errors: (f"{', '.join(errors)} are off",))
    of.session.facts = {NOT_FINITE: "y", "openvino": "2025.4.1-20426-82bbf0292c5"}
    slow, old, differ, off, lost = explore(of, silent).comparison.verdict.notes[-5:]
    assert old.startswith("OpenVINO 2025.4.1 is older than ")
    assert off == f"{wrong[0].name} (simulated) are off"
    assert lost.startswith("no value of y is finite")
    assert slow == f"{wrong[0].name} (simulated) was slow"
    assert differ == f"{wrong[1].name} (simulated) differ"


def test_a_device_in_f32_is_not_said_to_round(exploring, monkeypatch):
    of = exploring()
    exact, *others = of.session.selection.devices
    devices = (replace(exact, properties={"INFERENCE_PRECISION_HINT": "f32"}), *others)
    of.session.selection = replace(of.session.selection, devices=devices)
    monkeypatch.setattr(explore_module, "inexact_notes", lambda _, errors: (f"{', '.join(errors)} may round",))
    notes = explore(of, silent).comparison.verdict.notes
    assert f"{', '.join(device.name for device in others)} may round" in notes


@pytest.mark.parametrize("name", ["info", "notes", "certificate", "needs_costs"])
def test_a_placer_of_another_package_is_named_where_it_tells_of_itself(name, exploring, tmp_path, monkeypatch):
    module = f"""
from ovplace.placers.random import Config, Placer as Random
class Placer(Random):
    {"@classmethod" if name == "needs_costs" else "@property"}
    def {name}(self, *_): raise ValueError("wrong")
"""
    (tmp_path / "telling").mkdir()
    (tmp_path / "telling" / f"{name}.py").write_text(module)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(UsageError, match=rf"^the placer 'telling\.{name}' failed: ValueError: wrong"):
        explore(exploring(placer=f"telling.{name}"), silent)
