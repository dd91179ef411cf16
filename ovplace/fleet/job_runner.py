"""Running requests on this machine: a folder and a measuring process for each job."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from ovplace.core.measurement import Job
from ovplace.errors import BackendError, UsageError
from ovplace.fleet.files import FileStore
from ovplace.fleet.wire import TRAIN, RemoteJob
from ovplace.measuring.children import WorkerSpec
from ovplace.measuring.process_pool import ProcessPool
from ovplace.plugins import registry
from ovplace.simulation.machine_file import machine_names

MODEL, WEIGHTS, INPUT = "model.xml", "model.bin", "input.npz"
"""The files of a job, in its folder."""

MOST_JOBS = 8
"""Jobs that are kept ready, each a copy of its model and a process with it. One more ends the one that was not asked
for the longest time, except for what its backend has noted beside the model; a later request for that sets it up
again."""


class Training(Protocol):
    """A training of a policy."""

    def run(self, text: str) -> dict[str, Any]:
        """Return policy and report of the training with a text, in a process of its own."""

    def clear(self) -> None:
        """End it, in the middle if need be."""


@dataclass(frozen=True)
class _ReadyJob:
    pool: ProcessPool
    folder: Path

    def clear(self) -> None:
        """End the process and delete the files of the job."""
        self.pool.close()
        _delete_files(self.folder)


class ProcessRunner:
    """Runs requests in child processes, as a local run does."""

    def __init__(self, files: FileStore, training: Callable[[], Training]) -> None:
        """Begin without jobs, and delete what a killed worker has left of its own.

        Args:
            files: the files of jobs, by hash, in a folder of which this process holds the lock.
            training: returns a training that has not begun.
        """
        self._training, self._trainings = training, dict[str, Training]()
        self._files, self._folder = files, files.folder / "jobs"
        shutil.rmtree(self._folder, ignore_errors=True)
        self._ready: dict[str, _ReadyJob] = {}
        self._folders: dict[str, tempfile.TemporaryDirectory[str]] = {}  # of jobs, those that are not ready included
        self._ended: set[str] = set()  # jobs of this scheduler; a request may come after its search has gone
        self._lock = threading.Lock()
        self._measuring, self._ending = ThreadPoolExecutor(1, "measuring"), ThreadPoolExecutor(4, "ending")

    async def run(self, job: RemoteJob, method: str, arguments: tuple[Any, ...]) -> Any:
        """Return what an operation returns.

        Args:
            job: its job, whose files are there.
            method: one of `wire.OPERATIONS`.
            arguments: of it.

        Raises:
            OvplaceError: the job is refused, or its backend cannot work.
        """
        return await asyncio.get_running_loop().run_in_executor(self._measuring, self._run, job, method, arguments)

    async def forget(self, number: str) -> None:
        """End the process of a job, within a request if need be, delete its files, and refuse requests of it."""
        await asyncio.get_running_loop().run_in_executor(self._ending, self._end, number)

    def begin(self) -> None:
        """Take requests of a scheduler; those of jobs that ended as it was lost are good again."""
        with self._lock:
            self._ended.clear()

    def close(self) -> None:
        """End all processes."""
        list(self._ending.map(self._end, [*self._folders, *self._trainings]))
        self._measuring.shutdown(cancel_futures=True)
        self._ending.shutdown()

    def _run(self, job: RemoteJob, method: str, arguments: tuple[Any, ...]) -> Any:
        return self._train(job, *arguments) if method == TRAIN else self._measure(job, method, arguments)

    def _train(self, job: RemoteJob, text: str) -> dict[str, Any]:
        with self._lock:
            self._check_asked(job)
            training = self._trainings[job.number] = self._training()
        try:
            return training.run(text)
        finally:
            with self._lock:
                self._trainings.pop(job.number, None)

    def _check_asked(self, job: RemoteJob) -> None:
        if job.number in self._ended:
            raise BackendError("the search or training that asked for this is gone")

    def _measure(self, job: RemoteJob, method: str, arguments: tuple[Any, ...]) -> Any:
        with self._lock:
            self._check_asked(job)
            ready = self._ready.pop(job.number, None) or self._set_up(job)
            self._ready[job.number] = ready  # the last one now
            others = [self._ready.pop(number) for number in list(self._ready)[:-MOST_JOBS]]
        for other in others:
            other.clear()
        act: dict[str, Callable[..., Any]] = {
            "measure": ready.pool.measure,
            "start": ready.pool.start,
            "renew": ready.pool.renew,
        }
        return act[method](*arguments) if method in act else ready.pool.ask(method, *arguments)  # type: ignore[arg-type]

    def _end(self, number: str) -> None:
        with self._lock:
            self._ended.add(number)
            ready, training = self._ready.pop(number, None), self._trainings.pop(number, None)
            folder = self._folders.pop(number, None)
        if ready:
            ready.clear()
        if folder:
            folder.cleanup()
        if training:
            training.clear()

    def _set_up(self, job: RemoteJob) -> _ReadyJob:
        _check(job)
        path = self._folder_of(job.number)
        try:
            for name, digest in job.files.items():
                self._files.copy(digest, path / name)
        except BaseException:
            _delete_files(path)
            raise
        given = str(path / INPUT) if INPUT in job.files else ""
        local = Job(str(path / MODEL), job.devices, given, job.seed, job.options)
        return _ReadyJob(ProcessPool(WorkerSpec(job.backend, local)), path)

    def _folder_of(self, number: str) -> Path:
        if number not in self._folders:
            self._folder.mkdir(parents=True, exist_ok=True)
            self._folders[number] = tempfile.TemporaryDirectory(dir=self._folder)
        return Path(self._folders[number].name)


def _delete_files(folder: Path) -> None:
    for name in (MODEL, WEIGHTS, INPUT):
        (folder / name).unlink(missing_ok=True)


def _check(job: RemoteJob) -> None:
    """Refuse a job that names code or files of this machine.

    Raises:
        UsageError: it does.
    """
    backends = registry.names("backends")
    if job.backend not in backends:  # a dotted path would import any module that is installed
        raise UsageError(f"the backend '{job.backend}' is not installed here (there are {', '.join(backends)})")
    if not {MODEL, WEIGHTS} <= job.files.keys() <= {MODEL, WEIGHTS, INPUT}:
        raise UsageError(f"a job has the files {MODEL}, {WEIGHTS} and {INPUT}, got {', '.join(job.files)}")
    machine = job.options.get("machine", "")
    if machine and machine not in machine_names():
        raise UsageError(
            f"'{machine}' does not come with ovplace, and a worker simulates no others; search without --cluster"
        )
