"""Progress: lines without a terminal, a bar on one, and never a thread."""

import io
import itertools
import sys
import threading
from types import SimpleNamespace

import pytest

from ovplace import progress
from ovplace.cli.output.console import Console
from ovplace.session.events import Progress

EVENTS = [
    Progress("prepare", 0, 3, "reading the model"),
    Progress("prepare", 1, 3, "no GPU found"),
    Progress("start", 0, 1, "starting the measuring process"),
    Progress("prepare", 2, 3, "9 operations in 3 groups"),
    *(Progress("search", i, 20, "0.9", 0.5, reference="CPU") for i in range(1, 21)),
]


class Terminal(io.StringIO):
    def isatty(self):
        return True


def told(stream, monkeypatch, verbosity=0, step_s=1.0):
    monkeypatch.setattr(sys, "stderr", stream)
    ticks = itertools.count()
    with progress.listening(Console(verbosity=verbosity), lambda: next(ticks) * step_s) as listener:
        for event in EVENTS:
            listener(event)
            assert threading.active_count() == 1 + len(other_threads)
    return stream.getvalue()


other_threads = [thread for thread in threading.enumerate() if thread is not threading.main_thread()]


@pytest.fixture(autouse=True)
def _count_threads():
    other_threads[:] = [thread for thread in threading.enumerate() if thread is not threading.current_thread()]


def test_lines(monkeypatch):
    lines = told(io.StringIO(), monkeypatch).splitlines()
    assert lines[:2] == ["no GPU found", "9 operations in 3 groups"]
    assert lines[-1] == "search 20/20, best 50 % of CPU alone, last 0.9"
    assert 3 < len(lines) < 12


def test_what_takes_long_before_the_first_measurement_is_said_while_it_runs(monkeypatch):
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    with progress.listening(Console()) as listener:
        for event in EVENTS[:3]:
            listener(event)
            assert event.text in stream.getvalue()


def test_each_step_and_nothing(monkeypatch):
    assert len(told(io.StringIO(), monkeypatch, verbosity=1).splitlines()) == len(EVENTS)
    assert told(io.StringIO(), monkeypatch, verbosity=-1) == ""


def test_a_bar_on_a_terminal_and_no_thread(monkeypatch):
    text = told(Terminal(), monkeypatch)
    for words in ("no GPU found", "search 20/20"):
        assert words in text


def test_time_left():
    ticks = iter([0.0, 10.0])
    eta = progress._Eta(lambda: next(ticks))
    assert eta(Progress("search", 1, 11)) == float("inf")
    assert eta(Progress("search", 3, 11)) == pytest.approx(40)
    assert "about 1 min 30 s left" in progress.describe(Progress("search", 1, 2), 90)


@pytest.mark.parametrize(
    ("limits", "left_s"),
    [
        ({}, 40.0),
        ({"later_s": 25.0}, 65.0),
        ({"phase_s": 12.0, "later_s": 25.0}, 37.0),
        ({"later_s": 25.0, "call_s": 50.0}, 50.0),
        ({"later_s": float("inf")}, float("inf")),
        ({"later_s": float("inf"), "call_s": 50.0}, 50.0),
        ({"call_s": -3.0}, 0.0),
    ],
)
def test_time_left_counts_later_phases_and_never_exceeds_the_limit(limits, left_s):
    ticks = iter([0.0, 10.0])
    eta = progress._Eta(lambda: next(ticks))
    eta(Progress("search", 1, 11))
    assert eta(Progress("search", 3, 11, **limits)) == pytest.approx(left_s)


def test_a_search_without_a_budget_is_limited_by_its_time():
    ticks = iter([0.0, 10.0])
    eta = progress._Eta(lambda: next(ticks))
    eta(Progress("search", 1))
    assert eta(Progress("search", 3, phase_s=12.0, later_s=25.0)) == pytest.approx(37)
    assert progress.describe(Progress("search", 3, text="0.9"), 37).startswith("search 3, about 37 s left")


def test_an_unknown_time_is_not_said():
    assert "left" not in progress.describe(Progress("search", 1, 2), float("inf"))


def test_the_bar_is_of_the_whole_call_and_never_goes_back(monkeypatch):
    """Each phase takes ten seconds, and each expects the later ones to take as long."""
    drawn, now = [], [0.0]
    monkeypatch.setattr("rich.progress.Progress.update", lambda self, task, **said: drawn.append(said["completed"]))
    monkeypatch.setattr(sys, "stderr", Terminal())
    phases = ("baselines", "profile", "search", "finalists", "final comparison")
    with progress.listening(Console(), lambda: now[0]) as listener:
        for done in range(3):
            listener(Progress("prepare", done, 3))
            now[0] += 0.1
        assert drawn == [0.0] * 3
        drawn.clear()
        for number, phase in enumerate(phases):
            later_s = 10.0 * (len(phases) - 1 - number) if number else float("inf")
            for done in range(11):
                listener(Progress(phase, done, 10, later_s=later_s))
                now[0] += 1.0 if done < 10 else 0.0
    assert drawn == sorted(drawn)
    assert drawn[0] == 0.0 and drawn[10] == 0.0  # what follows the baselines is not known before they are over
    ends = drawn[21::11]
    assert ends == pytest.approx([0.4, 0.6, 0.8, 1.0], abs=0.02)


@pytest.mark.parametrize(("stream", "wanted", "drawn"), [
    (Terminal(), True, True), (Terminal(), False, False), (io.StringIO(), True, False),
])  # fmt: skip
def test_python_calls_draw_a_bar_on_a_terminal_unless_told_not_to(monkeypatch, stream, wanted, drawn):
    monkeypatch.setattr(sys, "stderr", stream)
    with progress.showing(wanted) as listener:
        for event in EVENTS:
            listener(event)
    assert ("search 20/20" in stream.getvalue()) == drawn
    assert bool(stream.getvalue()) == drawn


def test_a_listener_of_the_caller_takes_the_place_of_the_bar(monkeypatch):
    monkeypatch.setattr(sys, "stderr", stream := Terminal())
    seen = []
    with progress.showing(True, seen.append) as listener:
        listener(EVENTS[0])
    assert seen == EVENTS[:1] and not stream.getvalue()


def test_notebooks_show_one_line_that_is_rewritten(monkeypatch):
    shown = []
    handle = SimpleNamespace(update=lambda data, raw: shown.append(data["text/plain"]))
    monkeypatch.setitem(sys.modules, "ipykernel", SimpleNamespace())
    monkeypatch.setattr("IPython.get_ipython", lambda: SimpleNamespace(kernel=None))
    monkeypatch.setattr("IPython.display.display", lambda *_, **__: handle)
    with progress.showing(True) as listener:
        for event in EVENTS:
            listener(event)
    assert shown[-2].startswith("search 20/20, best 50 %")
    assert shown[-1] == ""


def test_a_program_that_imports_a_kernel_is_no_notebook(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "ipykernel", SimpleNamespace())
    with progress.showing(True) as listener:
        for event in EVENTS:
            listener(event)
    assert capsys.readouterr() == ("", "")
