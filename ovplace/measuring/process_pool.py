"""A pool that measures with one of the measuring processes of this process.

Each request has a deadline, after which its process is killed. A pool sends its requests from a thread of its own, so
that `close` can end one that runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import wait
from typing import Any

from ovplace.core.measurement import Candidate, ErrorKind, Measurement, MeasureSpec, kind_of
from ovplace.errors import BackendError
from ovplace.measuring import children
from ovplace.measuring.child import ChildDiedError, ChildTimeoutError, Method
from ovplace.measuring.children import WorkerSpec
from ovplace.measuring.own_thread import OwnThread

QUERY_DEADLINE_S = 600.0
"""Time limit of requests other than measuring."""

CLOSE_PATIENCE_S = 0.5
"""Closing waits this long for a running request, then ends it."""


class ProcessPool:
    """Measures candidates with one backend; every failure comes back as a measurement."""

    def __init__(self, worker: WorkerSpec) -> None:
        """Start no process yet: the first request does."""
        self._worker = worker
        self._thread = OwnThread()  # one, since two measurements at once would disturb each other

    @property
    def pid(self) -> int | None:
        """Id of the measuring process; None while there is none."""
        return children.pid_of(self._worker)

    def ask(self, method: Method, *arguments: Any) -> Any:
        """Return the answer of a backend method other than `measure`.

        Args:
            method: the method.
            *arguments: its arguments.

        Raises:
            OvplaceError: the backend cannot work, or its process hung or died.
        """
        try:
            return self._run(method, arguments, QUERY_DEADLINE_S)
        except (ChildTimeoutError, ChildDiedError) as error:
            raise BackendError(f"{error}, while asked for '{method}'") from error

    def facts(self) -> Mapping[str, str]:
        """Return the backend's facts."""
        facts: Mapping[str, str] = self.ask("facts")
        return facts

    def measure(self, candidates: Sequence[Candidate], spec: MeasureSpec) -> list[Measurement]:
        """Return one measurement for each candidate, timed in turns; a hang or a crash fails all of them.

        Args:
            candidates: placements on parts or on the whole model.
            spec: warm-up, repeats, blocks and deadline.

        Raises:
            OvplaceError: the backend cannot work at all.
        """
        try:
            measured = self._run("measure", (tuple(candidates), spec), spec.deadline_s)
        except ChildTimeoutError as error:
            return [Measurement.failed(ErrorKind.TIMEOUT, str(error))] * len(candidates)
        except ChildDiedError as error:
            return [Measurement.failed(kind_of(str(error), ErrorKind.CRASH), str(error))] * len(candidates)
        if not _fits(measured, len(candidates)):
            self.recycle()
            text = f"the backend '{self._worker.backend}' did not return one measurement for each candidate"
            return [Measurement.failed(ErrorKind.CRASH, text)] * len(candidates)
        return list(measured)

    def start(self) -> None:
        """Start the child now rather than with the next request.

        Raises:
            OvplaceError: the backend cannot work at all, or its process does not come up.
        """
        self._thread.call(children.start, self._worker)

    def preload(self) -> None:
        """Start a child that imports what it needs while the caller does something else; `start` takes it."""
        self._thread.submit(children.preload, self._worker)

    def renew(self) -> None:
        """Replace the child now by a fresh one.

        Raises:
            OvplaceError: the backend cannot work at all, or its process does not come up.
        """
        self._thread.call(children.renew, self._worker)

    def recycle(self) -> None:
        """Replace the child, so that the next request compiles anew in a fresh process."""
        self._thread.call(children.recycle, self._worker)

    def close(self) -> None:
        """End the child, in the middle of a request if need be, and the thread."""
        ended = self._thread.submit(children.discard, self._worker)
        while not wait([ended], CLOSE_PATIENCE_S).done and not self._thread.is_dead:
            if not ended.running():  # else it waits for a request of an equal pool, which shares the child
                children.interrupt(self._worker)
        if self._thread.is_dead:
            children.discard(self._worker)
        self._thread.close()

    def _run(self, method: Method, arguments: tuple[Any, ...], deadline_s: float) -> Any:
        return self._thread.call(children.run_request, self._worker, method, arguments, deadline_s)


def _fits(answer: object, count: int) -> bool:
    return isinstance(answer, Sequence) and len(answer) == count and all(isinstance(m, Measurement) for m in answer)
