"""The measuring processes of this process, its children: one for each backend and job, which equal pools share."""

from __future__ import annotations

import os
import pickle
import sys
import threading
from dataclasses import dataclass
from math import inf, isfinite
from pathlib import Path
from typing import Any

from ovplace.core.measurement import Job
from ovplace.errors import BackendError, OvplaceError
from ovplace.measuring.child import Child, ChildDiedError, ChildTimeoutError, Method

RECYCLE_AFTER = 400
"""Requests a child serves before it is replaced, which loses the compiled stages that it keeps. The emulated GPU leaks
5 to 10 MB a compiled model; the limit of memory replaces a child earlier where that is too much."""

START_ATTEMPTS = 3
"""A child that is killed while it starts is started again; one that fails by itself fails three times."""

_CONTAINER_LIMIT = Path("/sys/fs/cgroup/memory.max")
"""The limit of memory in bytes, or `max`, where the root of the control groups (version 2) is that of a container."""

_MORE_TIME = "it compiles the whole model for the CPU first; allow the call more time with --time"

_ANOTHER_MODEL = (
    "if OpenVINO's 'benchmark_app -d CPU' cannot run this model either, give other shapes or inputs, or export it anew"
)


@dataclass(frozen=True)
class WorkerSpec:
    """A backend with the job it measures, and when its process is replaced.

    Attributes:
        backend: name of the backend plug-in.
        job: the model and its devices.
        recycle_after: requests one process serves.
        memory_fraction: a process that once held more than this part of the machine's memory is replaced.
        start_s: seconds that a process may take to start where the time of the call is limited; else infinite.
    """

    backend: str
    job: Job
    recycle_after: int = RECYCLE_AFTER
    memory_fraction: float = 0.5
    start_s: float = inf

    @property
    def key(self) -> bytes:
        """Bytes that are equal for equal backends and jobs."""
        return pickle.dumps((self.backend, self.job))


@dataclass
class _Seat:
    child: Child
    served: int = 0


# The children by the keys of their workers.
_seats: dict[bytes, _Seat] = {}
# Children that have imported what their backends need, to be built where the next ones are wanted.
_spares: dict[bytes, Child] = {}
_lock = threading.RLock()


def _forget() -> None:
    """Begin a forked process without children: they answer its parent, and so may the thread that holds the lock."""
    global _lock  # noqa: PLW0603 - there is no thread that would release it
    _lock = threading.RLock()
    # No pipe is closed, and nothing sent: the threads that read from the children are gone, but their frames hold them.
    _seats.clear()
    _spares.clear()


if sys.platform != "win32":
    os.register_at_fork(after_in_child=_forget)


def run_request(worker: WorkerSpec, method: Method, arguments: tuple[Any, ...], deadline_s: float) -> Any:
    """Run a method of a backend in its child process, which is started if there is none.

    Args:
        worker: the backend, the job and when the process is replaced.
        method: the backend's method.
        arguments: its arguments.
        deadline_s: time limit of the request, in seconds.

    Returns:
        The method's result.

    Raises:
        OvplaceError: the backend cannot work at all, or its process does not come up.
        ChildTimeoutError, ChildDiedError: the child hung or died, and is gone.
    """
    with _lock:
        seat = _seats.get(worker.key) or _started(worker)
        try:
            value = seat.child.call(method, *arguments, deadline_s=deadline_s)
        except OvplaceError:  # an answer of the backend
            raise
        except BaseException:  # out of memory, for one: its answer must not be taken for that of the next request
            recycle(worker)
            raise
        seat.served += 1
        if seat.served >= worker.recycle_after or seat.child.peak_mib > worker.memory_fraction * _memory_mib():
            recycle(worker)
        return value


def _started(worker: WorkerSpec, child: Child | None = None, attempts: int = START_ATTEMPTS) -> _Seat:
    child = child or _spares.pop(worker.key, None) or Child(worker.backend, worker.job)
    seat = _seats[worker.key] = _Seat(child)
    try:
        seat.child.build(worker.start_s)
    except (ChildTimeoutError, ChildDiedError) as error:
        recycle(worker)
        if attempts > 1 and isinstance(error, ChildDiedError):
            return _started(worker, attempts=attempts - 1)
        advice = _MORE_TIME if isinstance(error, ChildTimeoutError) and isfinite(worker.start_s) else _ANOTHER_MODEL
        raise BackendError(f"the measuring process did not come up: {error}; {advice}") from error
    except BaseException:
        recycle(worker)
        raise
    return seat


def preload(worker: WorkerSpec) -> None:
    """Let a spare child import what the backend needs, for the next start; nobody waits for that."""
    with _lock:
        if worker.key not in _spares:
            _spares[worker.key] = Child(worker.backend, worker.job)


def renew(worker: WorkerSpec) -> None:
    """Replace the child by a fresh one; meanwhile the next one imports what it needs.

    Raises:
        OvplaceError: the backend cannot work at all, or its process does not come up.
    """
    with _lock:
        recycle(worker)
        child = _spares.pop(worker.key, None) or Child(worker.backend, worker.job)
        preload(worker)
        _started(worker, child)
        _await_spare(worker)


def _await_spare(worker: WorkerSpec) -> None:
    """Wait until the spare child has imported: what is measured next must have the processor for itself."""
    try:
        if spare := _spares.get(worker.key):
            spare.wait_until_imported(worker.start_s)
    except (OvplaceError, ChildTimeoutError, ChildDiedError):  # the next one that is started will tell
        _spares.pop(worker.key).close()


def discard(worker: WorkerSpec) -> None:
    """End the child and the spare one, if there are any."""
    with _lock:
        recycle(worker)
        if spare := _spares.pop(worker.key, None):
            spare.close()


def start(worker: WorkerSpec) -> None:
    """Start the child, if there is none.

    Raises:
        OvplaceError: the backend cannot work at all, or its process does not come up.
    """
    with _lock:
        if worker.key not in _seats:
            _started(worker)


def recycle(worker: WorkerSpec) -> None:
    """End the child, if there is one; the next request starts another."""
    with _lock:
        seat = _seats.pop(worker.key, None)
        if seat:
            seat.child.close()


def interrupt(worker: WorkerSpec) -> None:
    """Kill the child in the middle of a request of another thread, which then fails, and the spare one."""
    if seat := _seats.get(worker.key):  # without the lock: that thread holds it
        seat.child.kill()
    if spare := _spares.get(worker.key):
        spare.kill()


def kill_all() -> None:
    """Kill every child, from a signal handler: nothing is waited for, and requests fail."""
    for child in _children():
        child.kill()


def pid_of(worker: WorkerSpec) -> int | None:
    """Return the id of the child; None while there is none."""
    seat = _seats.get(worker.key)
    return seat.child.pid if seat else None


def running_pids() -> list[int]:
    """Return the ids of the measuring processes that this process has started and not ended."""
    return [child.pid for child in _children()]


def _children() -> list[Child]:
    """Return the children of this process, spare ones included; without the lock, as a signal handler asks, too."""
    return [*(seat.child for seat in list(_seats.values())), *list(_spares.values())]


def _memory_mib() -> float:
    """Return the memory of this machine, or the limit of the container where that is less."""
    try:
        machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**20
    except (AttributeError, ValueError, OSError):  # Windows
        return float("inf")
    try:
        return min(machine, int(_CONTAINER_LIMIT.read_text()) / 2**20)
    except (OSError, ValueError):  # no container, or `max`
        return machine
