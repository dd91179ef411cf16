"""Progress: lines without a terminal, a bar on one, and never a thread."""

import io
import itertools
import sys
import threading

import pytest

from ovplace.cli.output import progress
from ovplace.cli.output.console import Console
from ovplace.session.events import Progress

EVENTS = [
    Progress("prepare", 0, 3, "reading the model"),
    Progress("prepare", 1, 3, "no GPU found"),
    Progress("prepare", 2, 3, "9 operations in 3 groups"),
    *(Progress("search", i, 20, "0.9", 0.5) for i in range(1, 21)),
]


class Terminal(io.StringIO):
    def isatty(self):
        return True


def told(stream, monkeypatch, verbosity=0, first="", step_s=1.0):
    monkeypatch.setattr(sys, "stderr", stream)
    ticks = itertools.count()
    with progress.listening(Console(verbosity=verbosity), first, lambda: next(ticks) * step_s) as listener:
        for event in EVENTS:
            listener(event)
            assert threading.active_count() == 1 + len(other_threads)
    return stream.getvalue()


other_threads = [thread for thread in threading.enumerate() if thread is not threading.main_thread()]


@pytest.fixture(autouse=True)
def _count_threads():
    other_threads[:] = [thread for thread in threading.enumerate() if thread is not threading.current_thread()]


def test_lines(monkeypatch):
    lines = told(io.StringIO(), monkeypatch, first="continuing").splitlines()
    assert lines[:3] == ["continuing", "no GPU found", "9 operations in 3 groups"]
    assert lines[-1] == "search 20/20, best 50 % of the best single device, last 0.9"
    assert 3 < len(lines) < 12


def test_each_step_and_nothing(monkeypatch):
    assert len(told(io.StringIO(), monkeypatch, verbosity=1).splitlines()) == 22
    assert told(io.StringIO(), monkeypatch, verbosity=-1) == ""


def test_a_bar_on_a_terminal_and_no_thread(monkeypatch):
    text = told(Terminal(), monkeypatch, first="continuing")
    for words in ("continuing", "no GPU found", "search 20/20"):
        assert words in text


def test_time_left():
    ticks = iter([0.0, 10.0])
    eta = progress._Eta(lambda: next(ticks))
    assert eta(Progress("search", 1, 11)) == 0
    assert eta(Progress("search", 3, 11)) == pytest.approx(40)
    assert "about 1 min 30 s left" in progress.describe(Progress("search", 1, 2), 90)


@pytest.mark.parametrize(
    ("limits", "left_s"),
    [
        ({}, 40.0),
        ({"later_s": 25.0}, 65.0),
        ({"phase_s": 12.0, "later_s": 25.0}, 37.0),
        ({"later_s": 25.0, "call_s": 50.0}, 50.0),
        ({"later_s": float("inf")}, 0.0),
        ({"later_s": float("inf"), "call_s": 50.0}, 50.0),
        ({"call_s": -3.0}, 0.0),
    ],
)
def test_time_left_counts_later_phases_and_never_exceeds_the_limit(limits, left_s):
    ticks = iter([0.0, 10.0])
    eta = progress._Eta(lambda: next(ticks))
    eta(Progress("search", 1, 11))
    assert eta(Progress("search", 3, 11, **limits)) == pytest.approx(left_s)
