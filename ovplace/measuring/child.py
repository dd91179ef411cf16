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
from dataclasses import dataclass
from typing import IO, Any, Literal

from ovplace.core.measurement import Job
from ovplace.measuring.interpreter import running
from ovplace.measuring.messages import RefusedError, read_message

START_DEADLINE_S = 600.0
"""Starting reads the model and runs it whole once, which takes minutes for the largest."""

EXIT_DEADLINE_S = 5.0
"""Drivers have been seen to hang in their own clean-up at the end of a process."""

KILL_DEADLINE_S = 30.0
"""A process that is killed is gone within seconds, unless a driver holds it in a system call, which no signal ends."""


class ChildTimeoutError(Exception):
    """The child did not answer in time and was killed."""


class ChildDiedError(Exception):
    """The child ended before it answered, or its backend raised what no backend may raise."""


Method = Literal["automatic", "costs", "facts", "measure", "supported"]
"""The methods of a backend that its process calls on request."""


@dataclass(frozen=True)
class Call:
    """A request.

    Attributes:
        method: the backend's method.
        arguments: arguments of the method.
        deadline_s: time in seconds after which nobody waits for the answer.
    """

    method: Method
    arguments: tuple[Any, ...]
    deadline_s: float


@dataclass(frozen=True)
class Reply:
    """The reply to a request.

    Attributes:
        value: what the method returned; None where it failed.
        error: why it failed; None where it did not.
        peak_mib: peak memory of the child in MiB.
    """

    value: Any = None
    error: Exception | None = None
    peak_mib: float = 0.0


class Child:
    """One living child. Not thread-safe: one request at a time."""

    def __init__(self, backend: str, job: Job) -> None:
        """Start the process, and let it import what the backend needs; nobody waits for that.

        Args:
            backend: name of the backend plug-in.
            job: the model and the devices to measure; the model's file need not be there yet.
        """
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed in `close`
        # A session of its own: Ctrl-C goes to the parent alone, which saves and then ends the child.
        self._process = subprocess.Popen(
            running("ovplace.measuring.worker"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            start_new_session=True,
        )
        self._answers: queue.SimpleQueue[Reply | None] = queue.SimpleQueue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self._closed = False
        self._imported = False
        self.peak_mib = 0.0
        with contextlib.suppress(OSError):  # it has died; `build` tells
            self._send((backend, job))

    @property
    def pid(self) -> int:
        """Process id."""
        return self._process.pid

    def wait_until_imported(self, deadline_s: float = START_DEADLINE_S) -> None:
        """Wait until the process has imported what the backend needs, and takes no processor time any more.

        Args:
            deadline_s: time limit, in seconds, if less than that of any start.

        Raises:
            OvplaceError: what the backend itself raised.
            ChildTimeoutError, ChildDiedError: the process did not come up.
        """
        if not self._imported:
            self._imported = True
            self._receive(min(deadline_s, START_DEADLINE_S))

    def build(self, deadline_s: float = START_DEADLINE_S) -> None:
        """Let the process build the backend; the first request.

        Args:
            deadline_s: time limit, in seconds, of what is left of the import, and again of building, if less than that
                of any start.

        Raises:
            OvplaceError: what the backend itself raised while it was built.
            ChildTimeoutError, ChildDiedError: the process did not come up.
        """
        self.wait_until_imported(deadline_s)
        self._exchange(None, min(deadline_s, START_DEADLINE_S))

    def call(self, method: Method, *arguments: Any, deadline_s: float) -> Any:
        """Return what the backend's `method` returns.

        Args:
            method: the method.
            *arguments: its arguments, which must be picklable.
            deadline_s: time limit of the call, in seconds.

        Raises:
            ChildTimeoutError: no answer within `deadline_s`; the child has been killed.
            ChildDiedError: the child ended instead, or the backend raised something else.
            OvplaceError: what the backend raised.
        """
        return self._exchange(Call(method, arguments, deadline_s), deadline_s)

    def close(self) -> None:
        """End the process; safe to call twice."""
        if self._closed:
            return  # its number may be another process's by now
        self._closed = True
        self.kill()
        if self._exit_code(KILL_DEADLINE_S) is None:
            return  # it is left behind, and ends when the driver lets it
        self._reader.join()
        for stream in (self._process.stdin, self._process.stdout, self._errors):
            if stream:
                with contextlib.suppress(OSError):
                    stream.close()

    def kill(self) -> None:
        """Kill the child with its helpers; may be called from another thread than the one that waits for an answer."""
        kill_group(self._process)

    def _exchange(self, message: object, deadline_s: float) -> Any:
        # A process that is stopped does not read, and a long message does not fit into the pipe.
        stopped = threading.Timer(min(deadline_s, threading.TIMEOUT_MAX), self.kill)
        stopped.daemon = True
        stopped.start()
        try:
            self._send(message)
        except OSError:
            raise self._death() from None
        finally:
            stopped.cancel()
        return self._receive(deadline_s)

    def _send(self, message: object) -> None:
        assert self._process.stdin is not None
        pickle.dump(message, self._process.stdin)
        self._process.stdin.flush()

    def _receive(self, deadline_s: float) -> Any:
        try:
            answer = self._answers.get(timeout=min(deadline_s, threading.TIMEOUT_MAX))
        except queue.Empty:
            self.close()
            raise ChildTimeoutError(f"no answer within {deadline_s:g} s") from None
        if answer is None:
            raise self._death()
        self.peak_mib = answer.peak_mib
        if answer.error is not None:
            raise answer.error
        return answer.value

    def _death(self) -> ChildDiedError:
        code = self._exit_code(EXIT_DEADLINE_S)
        if code is None:  # it hangs while it ends
            self.kill()
            code = self._exit_code(KILL_DEADLINE_S)
        self._errors.seek(0)
        how = "hangs, and no signal ends it" if code is None else f"ended ({ending(code, self._errors.read())})"
        self.close()
        return ChildDiedError(f"the measuring process {how}")

    def _exit_code(self, deadline_s: float) -> int | None:
        """Return the exit code of the process; None where it does not end in time."""
        try:
            return self._process.wait(deadline_s)
        except subprocess.TimeoutExpired:
            return None

    def _read(self) -> None:
        stream = self._process.stdout
        assert stream is not None
        try:
            while True:
                self._answers.put(read_message(stream))
        except RefusedError as error:
            self._answers.put(_unreadable(error))
        except Exception:  # what a dying or faulty child leaves in the pipe can raise anything when it is read
            pass
        self._answers.put(None)


def _unreadable(error: RefusedError) -> Reply:
    """Return a reply in place of one that cannot be read, from a process that lives and has no other to send."""
    advice = "a backend has to return plain data, arrays or dataclasses"
    return Reply(error=ChildDiedError(f"the answer of the measuring process cannot be read: {error} ({advice})"))


def kill_group(process: subprocess.Popen[bytes]) -> None:
    """Kill a process that has a group of its own, with all of it: OpenCL runtimes fork helpers that hold the pipes.

    Args:
        process: it must not have been waited for: its number may be another process's then.
    """
    if sys.platform == "win32":
        process.kill()
        return
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def ending(code: int, said: bytes) -> str:
    """Return how a process ended, by its exit code and what it last wrote to standard error.

    Args:
        code: exit code, negative for a signal.
        said: the end of its standard error.
    """
    words = " ".join(said[-400:].decode(errors="replace").split())
    names = {number.value: number.name for number in signal.Signals}  # not of all real-time signals
    how = f"killed by {names.get(-code, f'signal {-code}')}" if code < 0 else f"exit code {code}"
    return f"{how}: {words}" if words else how
