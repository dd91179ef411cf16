"""The ask/tell loop with a placer that asks what it is given, and placements that are measured at once."""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from ovplace.core.measurement import ErrorKind, Measurement, Trial
from ovplace.core.placement import Placement
from ovplace.errors import BackendError, DivergedError, StoreError, UsageError
from ovplace.search import loop as loop_module
from ovplace.search.loop import Budget, Loop
from ovplace.search.requests import Answer
from ovplace.session import measurer as measurer_module
from ovplace.session.deadline import Deadline, TimeIsUpError
from ovplace.session.events import Progress, silent
from ovplace.session.measurer import Measurer
from ovplace.store.run_db import RunStore, StoredMeasurement
from ovplace.testing.sessions import OPS, direct, session


def split(number):
    """Return one of 4095 placements on two devices."""
    return Placement((number + 1) >> np.arange(OPS) & 1, ("CPU_0", "CPU_1"))


def on(devices, count):
    """Return a placement of so many operations on the first of some devices."""
    return Placement(np.zeros(count, dtype=np.int64), devices)


def answered(number, cached=False, ratio=1.0):
    return Trial(number, split(number), Measurement((10.0 * ratio,), (1,)), ratio, "listed", cached)


class Listed:
    """A placer that asks for `split(0)`, `split(1)`, ... and notes what it is told."""

    def __init__(self, asynchronous=False, ends=False, last=4000, same=False):
        self.asynchronous, self.ends, self.last, self.same = asynchronous, ends, last, same
        self.next, self.asked, self.told = 0, [], []

    def ask(self, n):
        numbers = range(self.next, min(self.next + n, self.last))
        self.asked.append(n)
        self.next += len(numbers)
        return [split(0 if self.same else number) for number in numbers]

    def tell(self, trials):
        self.told.append([trial.number for trial in trials])

    def state(self):
        return {"next": self.next}

    def restore(self, state):
        self.next = state["next"]


class Instant:
    """Answers requests in order; what it has measured it knows, trial n takes `ratios[n]` of the reference."""

    def __init__(self, capacity=1, ratios=(), failing=()):
        self.capacity, self.ratios, self.failing = capacity, ratios, failing
        self.waiting, self.started, self.known, self.stopped = deque(), [], set(), 0

    def submit(self, number, placement):
        self.started.append(number)
        self.waiting.append((number, placement))

    def next_answer(self):
        number, placement = self.waiting.popleft()
        cached = placement.hash in self.known
        self.known.add(placement.hash)
        ratio = self.ratios[number] if number < len(self.ratios) else 1.0
        stored = StoredMeasurement(Measurement((10.0 * ratio,), (1,)), ratio)
        if number in self.failing:
            stored = StoredMeasurement(Measurement.failed(ErrorKind.CRASH, "gone"), float("inf"))
        return Answer(number, placement.hash, stored, cached)

    def cancel(self):
        self.stopped += 1


@pytest.fixture
def make():
    """Return a function that makes a loop, always of one store."""
    store = RunStore(Path(":memory:"))

    def act(placer, requests, budget=5, batch=None, listener=silent):
        measurer = Measurer(session(Path(), direct()), store)
        limits = Budget(budget, batch) if batch else Budget(budget)
        return Loop(placer, measurer, requests, limits, "listed", listener)

    yield act
    store.close()


def test_batches_are_asked_for_and_told_until_the_budget_is_spent(make):
    placer, requests = Listed(), Instant(ratios=(0.5, 2.0))
    trials = make(placer, requests, budget=5, batch=2).run()
    assert placer.asked == [2, 2, 1]
    assert placer.told == [[0, 1], [2, 3], [4]]
    assert [trial.number for trial in trials] == requests.started == [0, 1, 2, 3, 4]
    assert [trial.placement.hash for trial in trials] == [split(i).hash for i in range(5)]
    assert [trial.ratio for trial in trials] == [0.5, 2.0, 1.0, 1.0, 1.0]
    assert {(trial.origin, trial.cached) for trial in trials} == {("listed", False)}
    assert requests.stopped == 1


@pytest.mark.parametrize(
    ("method", "answer", "why"),
    [
        ("ask", lambda n: None, "TypeError: 'NoneType' object is not iterable"),
        ("ask", lambda n: [np.zeros(3)], r"TypeError: ask\(\) returned ndarray in place of a Placement"),
        (
            "ask",
            lambda n: [on(("CPU_1", "CPU_0"), OPS)],
            r"ValueError: ask\(\) returned a placement on \('CPU_1', 'CPU_0'",
        ),
        ("ask", lambda n: [on(("CPU_0", "CPU_1"), OPS - 1)], "ValueError: expected devices of 12 operations, got 11"),
        ("tell", lambda trials: 1 // 0, "ZeroDivisionError"),
        ("state", lambda: {"next": {1}}, "TypeError: Object of type set is not JSON"),
    ],
)
def test_a_placer_of_another_package_is_named_in_its_errors(method, answer, why, make):
    placer, requests = Listed(), Instant()
    setattr(placer, method, answer)
    with pytest.raises(UsageError, match=rf"^the placer 'listed' failed: {why}.*; correct tests\.search\.test_loop"):
        make(placer, requests, budget=2).run()
    assert requests.stopped == 1


def test_without_a_budget_a_search_goes_on_until_the_placer_ends(make):
    totals = []
    loop = make(Listed(last=70), Instant(), budget=None, listener=lambda event: totals.append(event.total))
    assert len(loop.run()) == 70
    assert set(totals) == {0}


def test_one_is_asked_for_at_a_time_where_nothing_else_is_wanted(make):
    placer = Listed()
    make(placer, Instant(), budget=3).run()
    assert placer.asked == [1, 1, 1]


def test_each_trial_is_told_to_the_listener_with_the_best_so_far(make):
    told = []
    make(Listed(), Instant(ratios=(0.75, 0.5, 2.0, 1.0), failing={3}), budget=4, listener=told.append).run()
    assert told == [
        Progress("search", 1, 4, "0.750", 0.75),
        Progress("search", 2, 4, "0.500", 0.5),
        Progress("search", 3, 4, "2.000", 0.5),
        Progress("search", 4, 4, "crash", 0.5),
    ]


def test_a_placer_that_learns_from_batches_gets_one_for_all_machines(make):
    placer = Listed()
    make(placer, Instant(capacity=3), budget=7, batch=2).run()
    assert placer.asked == [3, 3, 1]
    assert placer.told == [[0, 1, 2], [3, 4, 5], [6]]


def test_a_placer_that_learns_from_any_answer_is_asked_as_machines_are_free(make):
    placer = Listed(asynchronous=True)
    make(placer, Instant(capacity=3), budget=6, batch=2).run()
    assert placer.asked == [3, 1, 1, 1]
    assert placer.told == [[0], [1], [2], [3], [4], [5]]


def test_such_a_placer_on_one_machine_learns_from_batches(make):
    placer = Listed(asynchronous=True)
    make(placer, Instant(capacity=1), budget=4, batch=2).run()
    assert placer.told == [[0, 1], [2, 3]]


def test_many_machines_are_kept_busy_by_a_tenth_more_which_is_asked_for_together(make):
    placer = Listed(asynchronous=True)
    make(placer, Instant(capacity=20), budget=28).run()
    assert placer.asked == [22, 2, 2, 2]


def test_a_placer_that_has_nothing_more_ends_the_search(make):
    assert len(make(Listed(last=3), Instant(), budget=5, batch=2).run()) == 3


@pytest.mark.parametrize(("ends", "asked"), [(False, 201), (True, 250)])
def test_200_known_placements_end_the_search_of_a_placer_that_does_not(make, ends, asked):
    assert len(make(Listed(same=True, ends=ends, last=250), Instant(), budget=2).run()) == asked


def test_a_new_placement_begins_the_count_of_known_ones_anew(make, monkeypatch):
    monkeypatch.setattr(loop_module, "IDLE", 3)
    searching = make(Listed(), Instant(), budget=9)
    for i in (1, 2, 4, 5, 6, 7):
        searching.requests.known.add(split(i).hash)
        searching.measurer.store.put_measurement(split(i).hash, "", StoredMeasurement(answered(i).measurement, 1.0))
    trials = searching.run()
    assert [trial.cached for trial in trials] == [False, True, True, False, True, True, True]


def test_a_run_goes_on_with_what_was_asked_for(make):
    """Trial 1 was answered before the run was stopped, trials 2 and 3 were not; the placer was told of trial 0 only."""
    placer, requests, told = Listed(), Instant(), []
    going_on = make(placer, requests, budget=6, batch=3, listener=told.append)
    store = going_on.measurer.store
    for number, ratio in ((0, 0.25), (1, 0.5)):
        store.add_trial(f"key {number}", answered(number, ratio=ratio))
    store.save_checkpoint({"next": 4}, {number: split(number) for number in (1, 2, 3)})
    assert [trial.number for trial in going_on.run()] == [0, 1, 2, 3, 4, 5]
    assert sorted(requests.started[:2]) == [2, 3]
    assert placer.told == [[1, 2, 3], [4, 5]]
    assert (told[0].done, told[0].best_ratio) == (3, 0.25)


def test_what_is_left_of_a_batch_is_measured_in_its_order(make):
    """An uninterrupted run with the smaller budget would have measured trial 7, and not trial 8."""
    requests = Instant()
    going_on = make(Listed(), requests, budget=8, batch=3)
    for number in range(7):
        going_on.measurer.store.add_trial(f"key {number}", answered(number))
    going_on.measurer.store.save_checkpoint({"next": 9}, {number: split(number) for number in (6, 7, 8)})
    assert [trial.number for trial in going_on.run()] == list(range(8))
    assert requests.started == [7, 8]


def test_numbers_go_on_after_what_was_asked_for_and_answered(make):
    placer, requests = Listed(), Instant()
    going_on = make(placer, requests, budget=3)
    going_on.measurer.store.add_trial("key 0", answered(0))
    going_on.measurer.store.save_checkpoint({"next": 1}, {})
    assert [trial.number for trial in going_on.run()] == [0, 1, 2]
    assert placer.told == [[1], [2]]


def test_a_smaller_budget_that_is_spent_measures_nothing_that_was_asked_for(make):
    placer, requests = Listed(), Instant()
    going_on = make(placer, requests, budget=1)
    going_on.measurer.store.add_trial("key 0", answered(0))
    going_on.measurer.store.save_checkpoint({"next": 3}, {1: split(1), 2: split(2)})
    assert [trial.number for trial in going_on.run()] == [0]
    assert placer.told == []


def test_what_the_store_had_answered_leaves_the_budget_as_it_is(make):
    going_on = make(Listed(), Instant(), budget=2)
    going_on.measurer.store.add_trial("key", answered(0))
    going_on.measurer.store.add_trial("key", replace(answered(0, cached=True), number=1))
    going_on.measurer.store.save_checkpoint({"next": 2}, {})
    assert [trial.number for trial in going_on.run()] == [0, 1, 2]


def test_time_that_is_up_ends_a_search_before_it_begins(make):
    placer = Listed()
    late = make(placer, Instant())
    late.measurer.deadline = Deadline(5.0, clock=lambda: 5.0)
    assert late.run() == []
    assert placer.asked == []


def test_time_that_is_up_ends_a_search_in_the_middle_of_a_batch(make):
    placer, now = Listed(), [0.0]
    late = make(placer, Instant(), batch=3, listener=lambda _: now.append(now[-1] + 1))
    late.measurer.deadline = Deadline(2.0, clock=lambda: now[-1])
    assert [trial.number for trial in late.run()] == [0, 1]
    assert placer.told == []


def test_a_policy_that_diverges_ends_a_search_with_what_was_measured(make):
    class Diverging(Listed):
        def tell(self, trials):
            super().tell(trials)
            if len(self.told) == 2:
                raise DivergedError

    requests = Instant()
    loop = make(Diverging(), requests)
    assert [trial.number for trial in loop.run()] == [0, 1]
    assert (loop.diverged, requests.stopped) == (str(DivergedError()), 1)


@pytest.mark.parametrize(("error", "said"), [(TimeIsUpError, None), (BackendError, "gone")])
def test_requests_are_cancelled_where_they_end_with_an_error(make, error, said):
    class Ending(Instant):
        def next_answer(self):
            raise error(said)

    requests = Ending()
    if said:
        with pytest.raises(error, match=said):
            make(Listed(), requests).run()
    else:
        assert make(Listed(), requests).run() == []
    assert requests.stopped == 1


def test_the_time_of_the_placer_is_counted(make, monkeypatch):
    now = [100.0]
    monkeypatch.setattr(measurer_module, "time", SimpleNamespace(monotonic=lambda: now[-1]))

    class Slow(Listed):
        def ask(self, n):
            now.append(now[-1] + 3.0)
            return super().ask(n)

        def tell(self, trials):
            now.append(now[-1] + 0.5)

    slow = make(Slow(), Instant(), budget=2)
    slow.run()
    assert slow.measurer.seconds.placer == 7.0


@pytest.mark.parametrize("error", [LookupError, TypeError, ValueError, AttributeError, RuntimeError])
def test_a_state_that_the_placer_refuses_is_one_line(make, error):
    class Refusing(Listed):
        def restore(self, state):
            raise error("a b\n" * 200)

    refused = make(Refusing(), Instant())
    refused.measurer.store.save_checkpoint({}, {})
    with pytest.raises(StoreError) as caught:
        refused.run()
    why = f"{error.__name__}: {'a b ' * 200}"[:200]
    assert str(caught.value) == (
        f"the placer 'listed' cannot go on from the state in the run folder ({why}): it is damaged, or of another "
        "version; start anew in another folder with -o"
    )


def test_a_placer_that_fails_as_it_is_restored_is_named(make):
    class Failing(Listed):
        def restore(self, state):
            raise AssertionError("wrong")

    failing = make(Failing(), Instant())
    failing.measurer.store.save_checkpoint({}, {})
    with pytest.raises(UsageError, match=r"^the placer 'listed' failed: AssertionError: wrong; correct tests\.search"):
        failing.run()
