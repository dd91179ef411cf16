"""Run cells in fresh processes: in parallel, but those that time inferences on this machine one at a time."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from typing import Any

from ovplace.config import toml
from ovplace.core import one_thread
from ovplace.experiments.grid import Cell
from ovplace.experiments.task import Task
from ovplace.measuring.child import ending
from ovplace.measuring.interpreter import running

_LONGEST_ERROR = 400
"""Characters."""

Done = Callable[[Cell, str], None]


def execute(cells: Sequence[Cell], task: Task[Any], jobs: int, done: Done) -> None:
    """Do `task` in all cells; a failure is reported and ends nothing.

    Args:
        cells: what to run.
        task: the work of each.
        jobs: cells at the same time that time nothing on this machine.
        done: called with each cell and its error, "" where there is none, in the calling thread.

    Raises:
        KeyboardInterrupt: Ctrl-C; the processes have been killed, which a run folder survives.
    """
    # Runs that are timed here: nothing else may run at the same time.
    _in_parallel([cell for cell in cells if not cell.timed_here], _Processes(task, one_thread.ENVIRONMENT), jobs, done)
    _in_parallel([cell for cell in cells if cell.timed_here], _Processes(task, {}), 1, done)


def _in_parallel(cells: Sequence[Cell], processes: _Processes, jobs: int, done: Done) -> None:
    executor = ThreadPoolExecutor(max_workers=jobs)
    try:
        pending = {executor.submit(processes.work, cell): cell for cell in cells}
        for future in as_completed(pending):
            done(pending[future], future.result())
    finally:
        processes.stop()
        executor.shutdown(cancel_futures=True)


@dataclass
class _Processes:
    """The processes that are running."""

    task: Task[Any]
    environment: Mapping[str, str]
    _processes: set[subprocess.Popen[bytes]] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _stopped: bool = False

    def work(self, cell: Cell) -> str:
        """Do the task in a process of its own; return its error, "" where there is none."""
        try:
            return self._worked(cell)
        except OSError as error:  # too many processes, or no room for their errors
            return f"its process cannot be run: {error.strerror or error}; is there enough for so many --jobs?"

    def _worked(self, cell: Cell) -> str:
        with tempfile.TemporaryFile() as errors:
            process = self._started(errors.fileno())
            if process is None:
                return "stopped"
            try:
                _send(process, self.task, cell)
                code = process.wait()
            finally:
                self._ended(process)
            errors.seek(0)
            return error_text(code, errors.read().decode(errors="replace"))

    def stop(self) -> None:
        """Kill what still runs, and start no other."""
        with self._lock:
            self._stopped = True
            for process in self._processes:
                process.kill()

    def _started(self, errors: int) -> subprocess.Popen[bytes] | None:
        with self._lock:
            if self._stopped:
                return None
            process = subprocess.Popen(
                running("ovplace.experiments"),
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=errors,
                env={**os.environ, **self.environment},
                start_new_session=True,  # Ctrl-C goes to the parent alone, which then ends them
            )
            self._processes.add(process)
            return process

    def _ended(self, process: subprocess.Popen[bytes]) -> None:
        with self._lock:
            self._processes.discard(process)
        assert process.stdin is not None
        with contextlib.suppress(OSError):
            process.stdin.close()


def _send(process: subprocess.Popen[bytes], task: Task[Any], cell: Cell) -> None:
    """Send a process its order; one that is dead already is found out by its exit code."""
    assert process.stdin is not None
    order = {
        "function": task.function,
        "options": dict(task.options),
        "folder": str(cell.folder),
        "config": toml.dumps(cell.config),
    }
    with contextlib.suppress(OSError):
        process.stdin.write(json.dumps(order).encode() + b"\n")
        process.stdin.flush()


def error_text(code: int, output: str) -> str:
    """Return the error of a process: the last line it wrote, or how it ended; empty where there is none.

    Args:
        code: exit code, or minus the number of the signal that killed it.
        output: what it wrote on standard error.
    """
    if code == 0:
        return ""
    last = next((line.strip() for line in reversed(output.splitlines()) if line.strip()), "")
    if code < 0:
        advice = "; is there enough memory for so many --jobs?" if code == -signal.SIGKILL else ""
        return f"the process was {ending(code, last.encode())}{advice}"
    if "Traceback" in output:
        last = f"internal error: {last}"
    return last[:_LONGEST_ERROR] or f"the process ended with exit code {code}"
