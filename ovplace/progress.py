"""Progress on standard error or in a notebook, drawn between measurements only.

There is no refreshing thread: on a machine with two cores it would disturb the inferences that are being timed.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

from ovplace.config.boolean import given_bool
from ovplace.errors import UsageError
from ovplace.session.events import Listener, Progress, silent

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

_BAR_WIDTH = 12
"""Characters."""

PLAIN_EVERY_S = 10.0
"""Seconds between two lines of a phase where there is no terminal."""

_OPENING = ("prepare", "start")
"""Phases before the first measurement. What a done step of them says, such as which devices there are, stays visible;
of a step that begins, only a bar tells, or a line where each step is wanted."""


class Messages(Protocol):
    """Messages on standard error, as many as the user wants."""

    @property
    def verbosity(self) -> int:
        """Level up to which they are written."""

    def log(self, text: str, level: int = 0) -> None:
        """Write a line unless the user wants less.

        Args:
            text: the line.
            level: the least verbosity at which it is written.
        """


@contextmanager
def showing(progress: bool, given: Listener | None = None) -> Iterator[Listener]:
    """Yield a listener for calls from Python: a bar on a terminal, a line in a notebook, nothing elsewhere.

    Args:
        progress: False for nothing anywhere.
        given: the caller's own listener, which is yielded in place of these.

    Raises:
        UsageError: `given` cannot be called, or `progress` is no boolean.
    """
    wanted = given_bool(progress, "progress")
    if given is not None and not callable(given):
        raise UsageError(f"a listener must be a function of one argument, got {type(given).__name__}; leave it out")
    if given is not None:
        yield given
    elif wanted and _in_notebook():
        with _notebook_line(time.monotonic) as listener:
            yield listener
    elif wanted and sys.stderr is not None and sys.stderr.isatty():
        with _bar(time.monotonic) as listener:
            yield listener
    else:
        yield silent


def _in_notebook() -> bool:
    """Return whether a kernel runs this code; that a program has imported one's package means nothing."""
    if "ipykernel" not in sys.modules:
        return False
    from IPython import get_ipython

    return hasattr(get_ipython(), "kernel")


@contextmanager
def listening(console: Messages, clock: Callable[[], float] = time.monotonic) -> Iterator[Listener]:
    """Yield a listener: a bar on a terminal, occasional lines elsewhere.

    Args:
        console: where plain lines go.
        clock: seconds, monotonic.
    """
    if console.verbosity == 0 and sys.stderr.isatty():
        with _bar(clock) as listener:
            yield listener
    else:
        yield _lines(console, clock)


def describe(event: Progress, left_s: float) -> str:
    """Return one step as text: phase, count, best so far, time left, and the step's own text.

    Args:
        event: the step.
        left_s: estimated seconds until the end of the call; infinite where unknown.
    """
    count = f"{event.done}/{event.total}" if event.total else str(event.done)
    text = f"last {event.text}" if event.phase == "search" else event.text
    best = f"best {100 * event.best_ratio:.0f} % of {event.reference} alone" if math.isfinite(event.best_ratio) else ""
    left = f"about {_duration(left_s)} left" if 1 <= left_s < math.inf else ""
    return ", ".join(part for part in (f"{event.phase} {count}", best, left, text) if part)


class _Eta:
    """Seconds left of a call, from the pace of its phase and what it expects of later ones; infinite where unknown."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock, self._phase, self._start, self._first = clock, "", 0.0, 0

    def __call__(self, event: Progress) -> float:
        if event.phase != self._phase:
            self._phase, self._start, self._first = event.phase, self._clock(), event.done
        done = event.done - self._first
        counted = done > 0 and event.total  # a search may be limited by its time alone
        pace_s = (self._clock() - self._start) / done * (event.total - event.done) if counted else math.inf
        return max(0.0, min(min(pace_s, event.phase_s) + event.later_s, event.call_s))


class _Overall:
    """Fraction of a whole call that is over, by time: baselines, profile, search and final comparison are one bar."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock, self._start, self._fraction = clock, clock(), 0.0

    def __call__(self, left_s: float) -> float:
        """Return the fraction, which never falls: a later phase may turn out to be longer than expected."""
        spent_s = self._clock() - self._start
        if spent_s + left_s > 0:
            self._fraction = max(self._fraction, spent_s / (spent_s + left_s))
        return self._fraction


def _lines(console: Messages, clock: Callable[[], float]) -> Listener:
    eta = _Eta(clock)
    said: dict[str, float] = {}

    def listen(event: Progress) -> None:
        left_s, now = eta(event), clock()
        if event.phase in _OPENING:
            if event.text:
                console.log(event.text, level=0 if event.done else 1)
            return
        due = now - said.get(event.phase, -math.inf) >= PLAIN_EVERY_S or event.done == event.total
        if due:
            said[event.phase] = now
        console.log(describe(event, left_s), level=0 if due else 1)

    return listen


@contextmanager
def _bar(clock: Callable[[], float]) -> Iterator[Listener]:
    from rich.markup import escape

    eta, overall, bar = _Eta(clock), _Overall(clock), _new_bar()
    task = bar.add_task("", total=1.0)

    def show(event: Progress) -> None:
        if event.phase in _OPENING and event.done:
            if event.text:
                bar.console.print(event.text, markup=False, highlight=False)
            event = replace(event, text="")  # it stands above the bar already
        left_s = eta(event) if event.phase not in _OPENING else math.inf  # what follows is not known yet
        bar.update(task, completed=overall(left_s), description=escape(describe(event, left_s)))
        bar.refresh()

    def listen(event: Progress) -> None:
        with suppress(OSError):  # a run goes on without the terminal it was started from
            show(event)

    bar.start()
    try:
        yield listen
    finally:
        with suppress(OSError):
            bar.stop()


def _new_bar() -> Bar:
    """Return a bar that is drawn when it is told to, and disappears in the end."""
    from rich import progress as rich_progress
    from rich.console import Console as Terminal
    from rich.table import Column

    whole = Column(no_wrap=True, min_width=_BAR_WIDTH)  # a long description is cut, the bar is not
    return rich_progress.Progress(
        rich_progress.BarColumn(bar_width=_BAR_WIDTH, table_column=whole),
        rich_progress.TextColumn("{task.description}"),
        console=Terminal(stderr=True),
        auto_refresh=False,
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
    )


@contextmanager
def _notebook_line(clock: Callable[[], float]) -> Iterator[Listener]:
    """Yield a listener that rewrites one line below the cell, which is empty in the end."""
    from IPython.display import display

    eta, shown = _Eta(clock), display(_plain(""), raw=True, display_id=True)  # type: ignore[no-untyped-call]

    def listen(event: Progress) -> None:
        shown.update(_plain(describe(event, eta(event))), raw=True)

    try:
        yield listen
    finally:
        shown.update(_plain(""), raw=True)


def _plain(text: str) -> dict[str, Any]:
    return {"text/plain": text}


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
