"""The kinds of faults: what is done to a run at one moment."""

from __future__ import annotations

import os
import signal
import sqlite3
import time
from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

from ovplace.store.run_folder import RunFolder
from ovplace.testing.faults.arming import arm
from ovplace.testing.faults.process import CLOCK_JUMP, StruckRun

BRIEF_S, LONG_S = 1.0, 7.0
"""SQLite waits for five seconds for a database that another process has locked."""

_PAUSE_S = 0.1
"""Between two signals."""

Strike = Callable[[StruckRun, Path], bool]
"""Strikes a run, whose backend is armed by the given file; returns whether there was something to strike."""


@dataclass(frozen=True)
class Kind:
    """A kind of fault.

    Attributes:
        strike: what it does.
        ends: whether the run is to end by it, and to be continued.
        terminal: whether the run needs a terminal.
    """

    strike: Strike
    ends: bool = False
    terminal: bool = False


def _armed(fault: str) -> Kind:
    def strike(run: StruckRun, armed: Path) -> bool:
        arm(armed, fault)
        end = time.monotonic() + BRIEF_S
        while armed.exists() and run.is_alive and time.monotonic() < end:
            time.sleep(0.01)
        with suppress(FileNotFoundError):
            armed.unlink()  # nothing was asked for
            return False
        return True

    return Kind(strike)


def _to_child(number: int) -> Kind:
    def strike(run: StruckRun, _: Path) -> bool:
        found = run.children()
        for pid in found:
            with suppress(ProcessLookupError):
                os.kill(pid, number)
        return bool(found)

    return Kind(strike)


def _to_run(*numbers: int) -> Kind:
    def strike(run: StruckRun, _: Path) -> bool:
        if not run.is_alive:
            return False
        for number in numbers:
            run.send(number)
            time.sleep(_PAUSE_S if number != numbers[-1] else 0)
        return True

    return Kind(strike, ends=True)


def _clock(run: StruckRun, _: Path) -> bool:
    run.send(CLOCK_JUMP)
    return run.is_alive


def _locked(for_s: float) -> Strike:
    def strike(run: StruckRun, _: Path) -> bool:
        database = RunFolder(run.folder).database
        if not database.exists():
            return False
        with closing(sqlite3.connect(database, isolation_level=None)) as db:
            db.execute("BEGIN IMMEDIATE")
            time.sleep(for_s)
            db.execute("ROLLBACK")
        return True

    return strike


def _terminal(run: StruckRun, _: Path) -> bool:
    run.close_terminal()
    return True


def _second(run: StruckRun, _: Path) -> bool:
    """Start a second run on the folder, which has to be refused by name, while the first one is held."""
    run.send(signal.SIGSTOP)
    try:
        if not run.is_alive or RunFolder(run.folder).result.exists():
            return False
        other = run.again()
        said = b"".join(other.speaking()).decode(errors="replace")
        code = other.ended()
    finally:
        run.send(signal.SIGCONT)
    if code != 1 or "is being searched by process" not in said:
        raise AssertionError(f"a second run was not refused, but ended with {code}: {said[-500:]}")
    return True


KINDS: Mapping[str, Kind] = {
    "child killed": _to_child(signal.SIGKILL),
    "child stopped (SIGSTOP)": _to_child(signal.SIGSTOP),
    "child hangs in a request": _armed("hang"),
    "child hangs while it ends": _armed("exit_hang"),
    "native crash (SIGSEGV)": _armed("segfault"),
    "native crash (abort)": _armed("abort"),
    "out of memory (MemoryError)": _armed("memory"),
    "out of memory (std::bad_alloc)": _armed("bad_alloc"),
    "wrong outputs": _armed("wrong_outputs"),
    "outputs that are not numbers": _armed("nan_outputs"),
    "missing outputs": _armed("no_outputs"),
    "missing answers": _armed("too_few"),
    "wall clock jumps by a day": Kind(_clock),
    f"database locked for {BRIEF_S:g} s": Kind(_locked(BRIEF_S)),
    f"database locked for {LONG_S:g} s": Kind(_locked(LONG_S), ends=True),
    "second run on the folder": Kind(_second),
    "Ctrl-C": _to_run(signal.SIGINT),
    "Ctrl-C twice": _to_run(signal.SIGINT, signal.SIGINT),
    "SIGTERM": _to_run(signal.SIGTERM),
    "SIGHUP": _to_run(signal.SIGHUP),
    "terminal closed": Kind(_terminal, ends=True, terminal=True),
    "parent killed (kill -9)": _to_run(signal.SIGKILL),
}
"""Faults by name."""

REAL_KINDS: Mapping[str, Kind] = {
    **{
        f"{words} in {when}": _armed(f"{phase} {fault}")
        for phase, when in (("compile", "compilation"), ("infer", "inference"))
        for fault, words in (("hang", "hang"), ("segfault", "native crash"), ("memory", "out of memory"))
    },
    **{name: KINDS[name] for name in ("child killed", "child stopped (SIGSTOP)", "SIGTERM", "parent killed (kill -9)")},
}
"""Faults of real inferences, by name; the backend is `armed_openvino`."""
