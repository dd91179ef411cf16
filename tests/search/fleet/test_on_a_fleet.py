"""A search on several machines, played in this process: answers come when the search waits for them."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from ovplace.core.measurement import MACHINE, ErrorKind, Measurement
from ovplace.core.placement import Placement
from ovplace.errors import BackendError
from ovplace.fleet.pool import FleetPool
from ovplace.search import fleet_requests
from ovplace.search.comparison.final_comparison import decide
from ovplace.search.explore import make_loop
from ovplace.search.result import Findings, build_result
from ovplace.session import measurer as measurer_module
from ovplace.session.baselines import measure_baselines
from ovplace.session.deadline import Deadline, TimeIsUpError
from ovplace.session.events import silent
from ovplace.session.measurer import Measurer
from ovplace.session.site import Fleet
from ovplace.store.run_db import RunStore
from ovplace.testing.sessions import OPS, QUICK, session

NAMES = ("CPU_0", "CPU_1")


class Machines(FleetPool):
    """Stands for machines: each takes the latencies of placements times a factor of its own."""

    def __init__(self, **factors):
        self.factors, self.broken, self.failure = factors, set(), None
        self.open, self.answered, self.most_open, self.specs = [], Counter(), 0, []
        self.first_in = False  # else the last request is answered first

    @property
    def machines(self):
        return list(self.factors)

    def exclude(self, machine):
        del self.factors[machine]

    def submit(self, candidates, spec):
        self.open.append((Future(), candidates))
        self.specs.append(spec)
        self.most_open = max(self.most_open, len(self.open))
        return self.open[-1][0]

    def check_machines(self, since_s):
        future, candidates = self.open.pop(0 if self.first_in else -1)
        machine = min(self.factors, key=lambda name: self.answered[name])
        self.answered[machine] += 1
        if self.failure:
            future.set_exception(self.failure)
        else:
            future.set_result({"worker": machine, "candidates": candidates})
        return since_s

    def measurements(self, answer, count):
        machine = answer["worker"]
        if machine in self.broken:
            raise BackendError(f"machine '{machine}' has no devices")
        assert len(answer["candidates"]) == count
        return [replace(latency(c, self.factors[machine]), facts={MACHINE: machine}) for c in answer["candidates"]]

    def measure(self, candidates, spec):
        return [latency(candidate, 1.0) for candidate in candidates]

    def renew(self):
        pass


def latency(candidate, factor):
    """Return 10 ms for all of a model on the first device, half of it for what is on the second."""
    share = np.mean(candidate.placement.device_of == 1) if candidate.placement else 0.0
    return Measurement((10.0 * factor * (1 - 0.5 * share * (1 - share)),) * 9, (3, 3, 3))


@pytest.fixture
def searching(monkeypatch):
    """Return a function that sets a search up on machines; gives the measurer, its baselines and its loop."""
    monkeypatch.setattr(fleet_requests, "POLL_S", 0.0)
    stores = []

    def make(machines, **search):
        store = RunStore(Path(":memory:"))
        stores.append(store)
        of = replace(session(Path(), machines, stages=False, **search), site=Fleet(None))
        measurer = Measurer(of, store)
        baselines = measure_baselines(measurer, of.config.measure, silent)
        return measurer, baselines, make_loop(measurer, baselines[0], silent)

    yield make
    for store in stores:
        store.close()


def split(first):
    return Placement((np.arange(OPS) >= first).astype(int), NAMES)


@pytest.mark.parametrize("first_in", [True, False])
@pytest.mark.parametrize("placer", ["random", "genetic", "single_device"])
def test_each_placement_is_measured_once_on_some_machine(searching, placer, first_in):
    machines = Machines(a=1.0, b=1.2, c=0.9, d=1.1)
    machines.first_in = first_in
    measurer, baselines, loop = searching(machines, placer=placer, budget=12)
    trials = loop.run()
    assert [trial.number for trial in trials] == list(range(len(trials)))
    assert sum(not trial.cached for trial in trials) == sum(machines.answered.values()) <= 12
    assert machines.most_open <= 4
    assert not machines.open, "nothing was asked for in vain"
    assert [trial.ratio for trial in trials] == pytest.approx([latency_of(trial) / 10.0 for trial in trials])
    comparison = decide(measurer, baselines, trials, silent)
    found = build_result(Findings(measurer.session, baselines, trials, comparison, measurer.seconds)).search.machines
    assert {machine.name: machine.trials for machine in found} == dict(machines.answered)


def latency_of(trial):
    return latency(trial, 1.0).median_ms


def test_a_machine_that_cannot_measure_is_set_aside_and_another_does_it(searching):
    machines = Machines(a=1.0, b=1.0)
    machines.broken = {"a"}
    _, _, loop = searching(machines, placer="random", budget=4)
    assert len(loop.run()) == 4
    assert loop.requests.notes == {"a": "machine 'a' has no devices"}
    assert machines.machines == ["b"]


@pytest.mark.parametrize("failure", [BackendError("the scheduler is gone"), TimeIsUpError()])
def test_what_cannot_be_answered_ends_the_search(searching, failure):
    machines = Machines(a=1.0)
    machines.failure = failure
    _, _, loop = searching(machines, placer="random", budget=4)
    if isinstance(failure, TimeIsUpError):
        assert loop.run() == []
    else:
        with pytest.raises(BackendError, match="the scheduler is gone"):
            loop.run()


def test_without_a_machine_that_can_measure_the_search_ends(searching):
    machines = Machines(a=1.0)
    machines.broken = {"a"}
    _, _, loop = searching(machines, placer="random", budget=4)
    with pytest.raises(BackendError, match="machine 'a' has no devices"):
        loop.run()


def test_one_request_answers_all_trials_of_a_placement(searching):
    machines = Machines(a=1.0, b=1.0)
    _, baselines, loop = searching(machines, placer="random", budget=4)
    requests = loop.requests
    requests.submit(0, split(4))
    requests.submit(1, split(4))
    requests.submit(2, baselines[0].candidate.placement)
    answers = [requests.next_answer() for _ in range(3)]
    assert [(one.number, one.cached) for one in answers] == [(2, False), (0, False), (1, True)]
    assert answers[0].stored.ratio == 1.0
    assert answers[1].stored.ratio == answers[2].stored.ratio < 1
    assert not machines.open


def test_what_the_store_knows_is_not_asked_for_and_what_is_stopped_is_forgotten(searching):
    machines = Machines(a=1.0)
    measurer, _, loop = searching(machines, placer="random", budget=4)
    loop.requests.submit(0, split(4))
    first = loop.requests.next_answer()
    measurer.store.put_measurement(first.key, "trial 0", first.stored)
    loop.requests.submit(1, split(5))
    loop.requests.cancel()
    loop.requests.submit(2, split(4))
    again = loop.requests.next_answer()
    assert (again.number, again.cached, again.stored) == (2, True, first.stored)


def test_a_slow_machine_measures_no_more(searching):
    machines = Machines(a=1.0, b=1.0, slow=9.0)
    _, _, loop = searching(machines, placer="random", budget=40)
    loop.run()
    assert machines.machines == ["a", "b"]
    assert "took 90 ms there, 10 ms on the others" in loop.requests.notes["slow"]
    assert machines.answered["slow"] < machines.answered["a"]


def test_why_a_machine_is_set_aside_says_that_the_device_is_simulated(searching):
    measurer, baselines, _ = searching(Machines(a=1.0, b=1.0, slow=9.0), placer="random", budget=60)
    of = measurer.session
    measurer.session = replace(of, selection=replace(of.selection, simulated="two CPUs"))
    loop = make_loop(measurer, baselines[0], silent)
    loop.run()
    assert loop.requests.notes == {"slow": "CPU_0 (simulated) took 90 ms there, 10 ms on the others"}


def test_as_many_are_measured_at_once_as_there_are_machines_and_one_where_all_are_away(searching):
    machines = Machines(a=1.0, b=1.0)
    _, _, loop = searching(machines, placer="random", budget=4)
    assert loop.requests.capacity == 2
    machines.factors.clear()
    assert loop.requests.capacity == 1


def test_a_request_has_its_own_time_or_what_is_left_of_the_search(searching):
    machines = Machines(a=1.0)
    measurer, _, loop = searching(machines, placer="random", budget=4)
    loop.requests.submit(0, split(4))
    measurer.deadline = Deadline(5.0, grace_s=2.0, clock=lambda: 0.0)
    loop.requests.submit(1, split(5))
    assert machines.specs == [QUICK, replace(QUICK, deadline_s=7.0)]
    measurer.deadline = Deadline(0.0, clock=lambda: 0.0)
    with pytest.raises(TimeIsUpError):
        loop.requests.submit(2, split(6))


def test_nobody_waits_for_a_machine_that_began_late(searching, monkeypatch):
    machines, now = Machines(a=1.0), [0.0]
    measurer, _, loop = searching(machines, placer="random", budget=4)
    measurer.deadline = Deadline(5.0, grace_s=2.0, clock=lambda: now[0])
    loop.requests.submit(0, split(4))

    def silent_machine(since_s):
        now[0] += 1.0
        return since_s

    monkeypatch.setattr(machines, "check_machines", silent_machine)
    with pytest.raises(TimeIsUpError):
        loop.requests.next_answer()
    assert now[0] == 8.0


@pytest.mark.parametrize(("left_s", "is_result"), [(QUICK.deadline_s, True), (1.0, False)])
def test_no_answer_in_time_is_a_result_where_the_time_was_its_own(searching, monkeypatch, left_s, is_result):
    machines = Machines(a=1.0)
    measurer, _, loop = searching(machines, placer="random", budget=4)
    measurer.deadline = Deadline(left_s, grace_s=0.0, clock=lambda: 0.0)
    late = Measurement.failed(ErrorKind.TIMEOUT, "no answer")
    monkeypatch.setattr(machines, "measurements", lambda answer, count: [late] * count)
    loop.requests.submit(0, split(4))
    if is_result:
        assert loop.requests.next_answer().stored.measurement == late
    else:
        with pytest.raises(TimeIsUpError):
            loop.requests.next_answer()


def test_the_time_of_requests_is_that_of_waiting_and_each_compilation_counts_once(searching, monkeypatch):
    machines, now = Machines(a=1.0), [50.0]
    measurer, baselines, loop = searching(machines, placer="random", budget=4)
    before = measurer.seconds.requests
    for module in (fleet_requests, measurer_module):
        monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: now[-1]))
    since: list[float] = []

    def check_machines(since_s):
        since.append(since_s)
        now.append(now[-1] + 1.5)
        return Machines.check_machines(machines, since_s) if len(since) % 2 == 0 else since_s + 1.0

    def measurements(answer, count):
        return [replace(m, facts={"compiling_ms": "100"}) for m in Machines.measurements(machines, answer, count)]

    monkeypatch.setattr(machines, "check_machines", check_machines)
    monkeypatch.setattr(machines, "measurements", measurements)
    loop.requests.submit(0, split(4))
    loop.requests.next_answer()
    assert since == [50.0, 51.0], "the second time it asks what has changed since the first"
    assert (measurer.seconds.requests - before, measurer.seconds.compiling) == (3.0, pytest.approx(0.2))
    loop.requests.submit(1, baselines[0].candidate.placement)
    loop.requests.next_answer()
    assert measurer.seconds.compiling == pytest.approx(0.3)


def test_an_answer_that_comes_after_the_end_is_nobodys(searching):
    machines = Machines(a=1.0)
    measurer, _, loop = searching(machines, placer="random", budget=4)
    loop.requests.submit(0, split(4))
    loop.requests.cancel()
    machines.check_machines(0.0)
    loop.requests.submit(1, split(4))
    assert len(machines.open) == 1, "it is asked for again"
    answer = loop.requests.next_answer()
    assert (answer.number, answer.cached) == (1, False)
    measurer.store.put_measurement(answer.key, "trial 1", answer.stored)
    loop.requests.submit(2, split(4))
    loop.requests.cancel()
    loop.requests.submit(3, split(5))
    assert loop.requests.next_answer().number == 3


def test_machines_are_judged_by_the_reference_and_not_by_what_they_were_given(searching, monkeypatch):
    machines = Machines(a=1.0, b=1.0)

    def measurements(answer, count):
        assert [candidate.name for candidate in answer["candidates"]][1:] == ["CPU_0"]
        slow = int(answer["candidates"][0].name.removeprefix("trial ")) % 2
        first, reference = Machines.measurements(machines, answer, count)
        return [replace(first, samples_ms=(90.0,) * 9) if slow else first, reference]

    _, _, loop = searching(machines, placer="random", budget=4)
    monkeypatch.setattr(machines, "measurements", measurements)
    for number in range(10):
        loop.requests.submit(number, split(number + 1))
        loop.requests.next_answer()
    assert (machines.machines, dict(loop.requests.notes)) == (["a", "b"], {})
    assert machines.answered == {"a": 5, "b": 5}


def test_the_last_machine_is_not_judged_by_those_that_left(searching):
    machines = Machines(a=1.0, b=1.0)
    _, _, loop = searching(machines, placer="random", budget=4)
    for number in range(8):
        loop.requests.submit(number, split(number + 1))
        loop.requests.next_answer()
    machines.exclude("b")
    machines.factors["a"] = 9.0
    for number in range(2, 8):
        loop.requests.submit(number, Placement(np.arange(OPS) % number // 2 % 2, NAMES))
        loop.requests.next_answer()
    assert (machines.machines, dict(loop.requests.notes)) == (["a"], {})
