"""A run of the command line in a process of its own, which is struck while it speaks.

Processes are forked from a server that has imported what they need, as importing takes longer than a short run.
"""

from __future__ import annotations

import fcntl
import multiprocessing
import os
import pty
import signal
import tempfile
import termios
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from multiprocessing import forkserver
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerContext
from pathlib import Path
from types import FrameType

from ovplace.cli import main
from ovplace.measuring import child, isolated_call, process_pool
from ovplace.testing.faults.failing_calls import library
from ovplace.testing.faults.fault import NOTHING, Fault
from ovplace.testing.faults.left_behind import Marked

LIMIT_S = 90.0
"""A run that has not ended by then is taken to hang, and is killed."""

SHORT_DEADLINE_S = 5.0
"""Time limit of the requests whose own is ten minutes, so that a child that hangs in one is seen to end it."""

CLOCK_JUMP = signal.SIGUSR1
"""Lets the wall clock of the run jump by a day, back and forth."""

_IMPORTED = [__name__, "openvino", "ovplace.api", "ovplace.ir.placed_model", "ovplace.cli.search.optimize"]


class StruckRun:
    """One process of a run.

    Attributes:
        folder: the run folder.
    """

    def __init__(
        self,
        arguments: Sequence[str],
        folder: Path,
        marked: Marked,
        *,
        terminal: bool = False,
        fault: Fault = NOTHING,
    ) -> None:
        """Start the process.

        Args:
            arguments: of the command line.
            folder: the run folder.
            marked: how its processes and temporary files are found.
            terminal: whether it runs in a terminal of its own.
            fault: what it brings upon itself.
        """
        self.folder, self._marked, self._arguments = folder, marked, arguments
        environment = {**marked.environment, **fault.environment}
        self._ours, theirs = pty.openpty() if terminal else os.pipe()
        with Connection(theirs, readable=False) as output:
            self._process = _server().Process(target=_run, args=(arguments, environment, output, terminal, fault))
            self._process.start()
        self._watch = threading.Timer(LIMIT_S, self.send, (signal.SIGKILL,))
        self._watch.daemon = True
        self._watch.start()

    def speaking(self) -> Iterator[bytes]:
        """Yield what it writes to standard error, until it ends."""
        with suppress(OSError):  # a terminal ends with an error
            while said := os.read(self._ours, 4096):
                yield said

    @property
    def is_alive(self) -> bool:
        """Whether it has not ended."""
        return self._process.is_alive()

    def again(self) -> StruckRun:
        """Start the same run in another process, on the same folder."""
        return StruckRun(self._arguments, self.folder, self._marked)

    def send(self, number: int) -> None:
        """Send a signal to the process itself."""
        with suppress(ProcessLookupError):
            os.kill(self._process.pid or 0, number)

    def children(self) -> list[int]:
        """Return the ids of its measuring processes."""
        return self._marked.processes()

    def close_terminal(self) -> None:
        """Close the window: the kernel sends SIGHUP, and whatever is written fails."""
        ours, self._ours = self._ours, os.open(os.devnull, os.O_RDONLY)
        os.close(ours)

    def ended(self) -> int:
        """Wait for the end; return the exit code, negative for a signal."""
        self._process.join()
        self._watch.cancel()
        os.close(self._ours)
        return self._process.exitcode or 0


@cache
def _server() -> ForkServerContext:
    """Start the server of this process, which forks all runs."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(_IMPORTED)
    before = os.environ.get("LD_PRELOAD", "")
    os.environ["LD_PRELOAD"] = f"{before} {library()}".strip()
    try:
        forkserver.ensure_running()
    finally:
        os.environ["LD_PRELOAD"] = before
        if not before:
            del os.environ["LD_PRELOAD"]
    return context


def _run(
    arguments: Sequence[str], environment: Mapping[str, str], output: Connection, terminal: bool, fault: Fault
) -> None:
    os.environ.clear()
    os.environ.update(environment)
    tempfile.tempdir = None
    os.setsid()
    if terminal:
        fcntl.ioctl(output.fileno(), termios.TIOCSCTTY, 0)
    os.dup2(output.fileno(), 2)
    output.close()
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    child.START_DEADLINE_S = process_pool.QUERY_DEADLINE_S = isolated_call.DEADLINE_S = SHORT_DEADLINE_S
    signal.signal(CLOCK_JUMP, _Clock())
    fault.arm()
    main(arguments)


class _Clock:
    """The wall clock, which jumps by a day and back when it is signalled."""

    def __init__(self) -> None:
        self._offset_s, self._true = 0.0, time.time
        time.time = lambda: self._true() + self._offset_s

    def __call__(self, _: int, __: FrameType | None) -> None:
        self._offset_s = -86_400.0 if self._offset_s >= 0 else 86_400.0
