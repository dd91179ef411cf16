"""A child process that owns one backend: it can hang or die without taking the run along."""

from __future__ import annotations

import contextlib
import os
import pickle
import queue
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import IO, Any

from ovplace.core.measurement import Job
from ovplace.errors import BackendError, OvplaceError

START_DEADLINE_S = 600.0
"""Starting reads the model and runs it whole once, which takes minutes for the largest."""


class ChildTimeoutError(Exception):
    """The child did not answer in time and was killed."""


class ChildDiedError(Exception):
    """The child ended before it answered; `signal` is the number that killed it, 0 if none."""

    def __init__(self, text: str, number: int) -> None:
        """Keep the text and the signal."""
        super().__init__(text)
        self.signal = number


@dataclass(frozen=True)
class Call:
    """A request: the backend's method and its arguments."""

    method: str
    arguments: tuple[Any, ...] = ()


@dataclass(frozen=True)
class Answer:
    """The reply: a value, or an error that makes measuring impossible; and the child's peak memory in MiB."""

    value: Any = None
    error: Exception | None = None
    peak_mib: float = 0.0


class Child:
    """One living child. Not thread-safe: one request at a time."""

    def __init__(self, backend: str, job: Job) -> None:
        """Start the process and let it build the backend `backend` for `job`.

        Raises:
            OvplaceError: what the backend itself raised while it was built.
            BackendError: the process did not come up.
        """
        self._errors: IO[bytes] = tempfile.TemporaryFile()
        # A session of its own: Ctrl-C goes to the parent alone, which saves and then ends the child.
        self._process = subprocess.Popen(
            [sys.executable, "-m", "ovplace.measure.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            start_new_session=True,
        )
        self._answers: queue.SimpleQueue[Answer | None] = queue.SimpleQueue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self.peak_mib = 0.0
        try:
            self._exchange((backend, job), START_DEADLINE_S)
        except (ChildDiedError, ChildTimeoutError) as error:
            raise BackendError(f"the measuring process did not come up: {error}") from error
        except BaseException:
            self.close()
            raise

    @property
    def pid(self) -> int:
        """Process id."""
        return self._process.pid

    def call(self, method: str, *arguments: Any, deadline_s: float) -> Any:
        """Return what the backend's `method` returns.

        Raises:
            ChildTimeoutError: no answer within `deadline_s`; the child has been killed.
            ChildDiedError: the child ended instead.
            OvplaceError: what the backend raised.
        """
        return self._exchange(Call(method, arguments), deadline_s)

    def close(self) -> None:
        """End the process; safe to call twice."""
        self._kill()
        self._process.wait()
        self._reader.join()
        for stream in (self._process.stdin, self._process.stdout, self._errors):
            if stream:
                with contextlib.suppress(OSError):
                    stream.close()

    def _kill(self) -> None:
        """Kill the child's process group: OpenCL runtimes fork helpers that inherit and hold the pipes."""
        if sys.platform == "win32":
            self._process.kill()
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def _exchange(self, message: object, deadline_s: float) -> Any:
        try:
            assert self._process.stdin is not None
            pickle.dump(message, self._process.stdin)
            self._process.stdin.flush()
        except OSError:
            self._died()
        try:
            answer = self._answers.get(timeout=deadline_s)
        except queue.Empty:
            self.close()
            raise ChildTimeoutError(f"no answer within {deadline_s:g} s") from None
        if answer is None:
            self._died()
        self.peak_mib = answer.peak_mib
        if answer.error is not None:
            raise answer.error
        return answer.value

    def _died(self) -> None:
        code = self._process.wait()
        self._errors.seek(0)
        words = self._errors.read()[-400:].decode(errors="replace").strip()
        self.close()
        number = -code if code < 0 else 0
        how = f"killed by {signal.Signals(number).name}" if number else f"exit code {code}"
        raise ChildDiedError(f"the measuring process ended ({how}) {words}".strip(), number)

    def _read(self) -> None:
        stream = self._process.stdout
        with contextlib.suppress(EOFError, OSError, ValueError, pickle.UnpicklingError):
            while True:
                self._answers.put(pickle.load(stream))
        self._answers.put(None)


def guarded(act: Callable[[], Any]) -> Answer:
    """Run `act` in the child and return its value or its error as an answer."""
    try:
        return Answer(act())
    except OvplaceError as error:
        return Answer(error=error)
    except Exception as error:
        return Answer(error=BackendError(f"{type(error).__name__} in the measuring process: {error}"))
