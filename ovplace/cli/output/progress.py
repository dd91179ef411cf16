"""Progress on standard error, drawn between measurements only.

There is no refreshing thread: on a machine with two cores it would disturb the inferences that are being timed.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from ovplace.cli.output.console import Console

if TYPE_CHECKING:
    from ovplace.session.events import Listener, Progress

PLAIN_EVERY_S = 10.0
"""Seconds between two lines of a phase where there is no terminal."""


@contextmanager
def listening(console: Console, first: str = "", clock: Callable[[], float] = time.monotonic) -> Iterator[Listener]:
    """Yield a listener: a bar on a terminal, occasional lines elsewhere.

    Args:
        console: where plain lines go.
        first: a line to say as soon as the run has begun.
        clock: seconds, monotonic.
    """
    if console.verbosity == 0 and sys.stderr.isatty():
        with _bar(console, first, clock) as listener:
            yield listener
    else:
        yield _lines(console, first, clock)


def describe(event: Progress, left_s: float) -> str:
    """Return one step as text: phase, count, best so far, time left, and the step's own text.

    Args:
        event: the step.
        left_s: estimated seconds until the end of the call; 0 where unknown.
    """
    count = f"{event.done}/{event.total}" if event.total else str(event.done)
    text = f"last {event.text}" if event.phase == "search" else event.text
    best = f"best {100 * event.best_ratio:.0f} % of the best single device" if math.isfinite(event.best_ratio) else ""
    left = f"about {_duration(left_s)} left" if left_s >= 1 else ""
    return ", ".join(part for part in (f"{event.phase} {count}", best, left, text) if part)


class _Eta:
    """Seconds left of a call, from the pace of its phase and what it expects of later ones; 0 where unknown."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock, self._phase, self._start, self._first = clock, "", 0.0, 0

    def __call__(self, event: Progress) -> float:
        if event.phase != self._phase:
            self._phase, self._start, self._first = event.phase, self._clock(), event.done
        done = event.done - self._first
        pace_s = (self._clock() - self._start) / done * (event.total - event.done) if done > 0 else math.inf
        left_s = max(0.0, min(min(pace_s, event.phase_s) + event.later_s, event.call_s))
        return left_s if math.isfinite(left_s) else 0.0


def _lines(console: Console, first: str, clock: Callable[[], float]) -> Listener:
    eta, waiting = _Eta(clock), [first] if first else []
    said: dict[str, float] = {}

    def listen(event: Progress) -> None:
        for line in _opening(event, waiting):
            console.log(line)
        left_s, now = eta(event), clock()
        if event.phase == "prepare":
            return
        due = now - said.get(event.phase, -math.inf) >= PLAIN_EVERY_S or event.done == event.total
        if due:
            said[event.phase] = now
        console.log(describe(event, left_s), level=0 if due else 1)

    return listen


@contextmanager
def _bar(console: Console, first: str, clock: Callable[[], float]) -> Iterator[Listener]:
    from rich.console import Console as Terminal
    from rich.markup import escape
    from rich.progress import BarColumn, TextColumn
    from rich.progress import Progress as Bar

    eta, waiting = _Eta(clock), [first] if first else []
    columns = (BarColumn(bar_width=12), TextColumn("{task.description}"))
    bar = Bar(
        *columns,
        console=Terminal(stderr=True),
        auto_refresh=False,
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
    )
    task = bar.add_task("")

    def listen(event: Progress) -> None:
        for line in _opening(event, waiting):
            bar.console.print(line, markup=False, highlight=False, soft_wrap=True)
        if event.phase == "prepare":
            event = replace(event, text="")  # it stands above the bar already
        text = escape(describe(event, eta(event)))
        bar.update(task, completed=event.done, total=event.total or None, description=text)
        bar.refresh()

    with bar:
        yield listen


def _opening(event: Progress, waiting: list[str]) -> list[str]:
    """Return the lines that are said once: that a run goes on, which devices and groups there are."""
    lines, waiting[:] = list(waiting), []
    return [*lines, event.text] if event.phase == "prepare" and event.done and event.text else lines


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
