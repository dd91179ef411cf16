"""Runs searches in fresh processes: simulated ones side by side, real ones one at a time."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field

from ovplace.config import toml
from ovplace.experiments.plan import Run

ONE_THREAD = {name: "1" for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")}
"""For simulated runs: they share the processors, and what a placer computes must not depend on how many run at once."""

_WORDS = 400

Done = Callable[[Run, str], None]


def execute(runs: Sequence[Run], jobs: int, done: Done) -> None:
    """Run all; a failure is told to `done` and ends nothing.

    Args:
        runs: what to run.
        jobs: simulated runs at the same time.
        done: is told each run and its error, "" where there is none, in the calling thread.

    Raises:
        KeyboardInterrupt: Ctrl-C; the processes have been killed, which a run survives.
    """
    # Real runs are timed: nothing else may run beside them.
    _side_by_side([run for run in runs if run.simulated], jobs, ONE_THREAD, done)
    _side_by_side([run for run in runs if not run.simulated], 1, {}, done)


def _side_by_side(runs: Sequence[Run], jobs: int, environment: Mapping[str, str], done: Done) -> None:
    crew = _Crew(environment)
    executor = ThreadPoolExecutor(max_workers=jobs)
    try:
        pending = {executor.submit(crew.work, run): run for run in runs}
        for future in as_completed(pending):
            done(pending[future], future.result())
    finally:
        crew.stop()
        executor.shutdown(cancel_futures=True)


@dataclass
class _Crew:
    """The living processes."""

    environment: Mapping[str, str]
    _processes: set[subprocess.Popen[bytes]] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _stopped: bool = False

    def work(self, run: Run) -> str:
        """Run one search in a process of its own; return its error, "" where there is none."""
        with tempfile.TemporaryFile() as errors:
            process = self._started(errors.fileno())
            if process is None:
                return "stopped"
            try:
                _order(process, run)
                code = process.wait()
            finally:
                self._ended(process)
            errors.seek(0)
            return _explained(code, errors.read().decode(errors="replace"))

    def stop(self) -> None:
        """Kill what still runs, and start nothing any more."""
        with self._lock:
            self._stopped = True
            for process in self._processes:
                process.kill()

    def _started(self, errors: int) -> subprocess.Popen[bytes] | None:
        with self._lock:
            if self._stopped:
                return None
            process = subprocess.Popen(
                [sys.executable, "-m", "ovplace.experiments.__main__"],
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


def _order(process: subprocess.Popen[bytes], run: Run) -> None:
    """Say what to run; a process that is dead already is found out by its exit code."""
    assert process.stdin is not None
    order = {"folder": str(run.folder), "config": toml.dumps(run.config)}
    with contextlib.suppress(OSError):
        process.stdin.write(json.dumps(order).encode() + b"\n")
        process.stdin.flush()


def _explained(code: int, words: str) -> str:
    """Return the error of a process: its last words, or how it ended."""
    if code == 0:
        return ""
    last = next((line.strip() for line in reversed(words.splitlines()) if line.strip()), "")
    if code < 0:
        return f"the process was killed by {signal.Signals(-code).name}; is there enough memory for so many --jobs?"
    if "Traceback" in words:
        last = f"internal error: {last}"
    return last[:_WORDS] or f"the process ended with exit code {code}"
