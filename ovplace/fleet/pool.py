"""A pool whose process is on a machine of a fleet, with requests besides that any machine of the class may answer."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

from ovplace.core.measurement import MACHINE, Candidate, Measurement, MeasureSpec
from ovplace.errors import BackendError
from ovplace.fleet import wire
from ovplace.fleet.channel import Message
from ovplace.fleet.cluster import POLL_S, WAIT_S, Cluster
from ovplace.fleet.job_runner import INPUT, MODEL, WEIGHTS
from ovplace.fleet.machine import DeviceClass
from ovplace.measuring.child import Method
from ovplace.measuring.children import WorkerSpec
from ovplace.measuring.process_pool import QUERY_DEADLINE_S


class FleetPool:
    """Measures with the machines of one class.

    What has to be compared in milliseconds (baselines, profile, final comparison) is measured on one of them, the home;
    `submit` gives a request to whichever is free, and its results count by their ratio to a reference in it alone.
    """

    def __init__(
        self,
        cluster: Cluster,
        device_class: DeviceClass,
        spec: WorkerSpec,
        all_train: Callable[[list[str]], None] = lambda _: None,
    ) -> None:
        """Ask for nothing yet.

        Args:
            cluster: the machines.
            device_class: those that measure.
            spec: the backend and the job, whose model need not be there yet.
            all_train: is called with the names of the machines where a request waits because all of them train.
        """
        self._cluster, self._class, self._spec = cluster, device_class, spec
        self._all_train, self._is_told = all_train, False
        self._number = uuid.uuid4().hex
        self._excluded: set[str] = set()
        self._seen = -1  # changes of the cluster when `_machines` was found
        self._machines: list[str] = []

    @property
    def machines(self) -> list[str]:
        """Names of the machines that measure now."""
        changes = self._cluster.changes
        if self._seen != changes:
            alike = self._cluster.machines(self._class)
            self._machines = [m.name for m in alike if m.name not in self._excluded]
            self._seen = changes
        return self._machines

    def exclude(self, machine: str) -> None:
        """Measure no more on a machine."""
        self._excluded.add(machine)
        self._seen = -1
        self._cluster.exclude(machine)

    def submit(self, candidates: Sequence[Candidate], spec: MeasureSpec) -> Future[Message]:
        """Let any machine measure candidates in turns; `measurements` reads the answer.

        Args:
            candidates: placements on parts or on the whole model.
            spec: warm-up, repeats, blocks and deadline.
        """
        return self._submit("measure", (tuple(candidates), spec), spec.deadline_s, at_home=False)

    def measurements(self, answer: Message, count: int) -> list[Measurement]:
        """Return the measurements in an answer, each with the machine that made it.

        Args:
            answer: to a request to measure.
            count: number of its candidates.

        Raises:
            OvplaceError: the machine cannot measure at all.
        """
        machine = str(answer["worker"])
        if "lost" in answer:
            return wire.lost(count, str(answer["lost"]))
        measured: list[Measurement] = value_of("measure", answer)
        if len(measured) != count:
            raise BackendError(f"machine '{machine}' returned {len(measured)} measurements for {count} candidates")
        return [replace(m, facts={**m.facts, MACHINE: machine}) for m in measured]

    def measure(self, candidates: Sequence[Candidate], spec: MeasureSpec) -> list[Measurement]:
        """Return one measurement for each candidate, timed in turns at home; a hang or a crash fails all of them.

        Args:
            candidates: placements on parts or on the whole model.
            spec: warm-up, repeats, blocks and deadline.

        Raises:
            OvplaceError: no machine can measure at all.
        """
        answer = self._submit("measure", (tuple(candidates), spec), spec.deadline_s, at_home=True)
        return self.measurements(self.wait(answer), len(candidates))

    def ask(self, method: Method, *arguments: Any) -> Any:
        """Return the answer of a backend method other than `measure`, at home.

        Args:
            method: the method.
            *arguments: its arguments.

        Raises:
            OvplaceError: the backend cannot work, or its process hung or died.
        """
        return self._do(method, *arguments)

    def facts(self) -> Mapping[str, str]:
        """Return the backend's facts, at home."""
        facts: Mapping[str, str] = self.ask("facts")
        return facts

    def start(self) -> None:
        """Start the process at home now rather than with the next request."""
        self._do("start")

    def preload(self) -> None:
        """Do nothing: the machines are not asked before there is a model."""

    def renew(self) -> None:
        """Replace the process at home now by a fresh one."""
        self._do("renew")

    def close(self) -> None:
        """Let the machines end their processes."""
        self._cluster.forget(self._number)

    def wait(self, answer: Future[Message]) -> Message:
        """Return an answer as soon as it is there.

        Raises:
            BackendError: the scheduler is gone, or no machine that could answer has been there for a while.
        """
        since = time.monotonic()
        while True:
            try:
                return answer.result(POLL_S)
            except TimeoutError:
                since = self.check_machines(since)

    def check_machines(self, since_s: float) -> float:
        """Return since when there has been no machine to measure with, on the monotonic clock: now, if there is one.

        Args:
            since_s: what this returned before.

        Raises:
            BackendError: that is too long ago.
        """
        now = time.monotonic()
        if self.machines:
            self._tell_of_trainings()
            return now
        if now - since_s > WAIT_S:
            raise BackendError(
                f"no machine at '{self._cluster.address}' can measure this run any more; start "
                "'ovplace worker' on one, the same command continues the run"
            )
        return since_s

    def _tell_of_trainings(self) -> None:
        """Say once that all machines train."""
        all_train = self._cluster.training.issuperset(self.machines)
        if all_train and not self._is_told:
            self._all_train(self.machines)
        self._is_told = all_train

    def _do(self, method: str, *arguments: Any) -> Any:
        return value_of(method, self.wait(self._submit(method, arguments, QUERY_DEADLINE_S, at_home=True)))

    def _submit(self, method: str, arguments: tuple[Any, ...], deadline_s: float, *, at_home: bool) -> Future[Message]:
        return self._cluster.submit(self._job, method, arguments, deadline_s, self._class, at_home=at_home)

    @cached_property
    def _job(self) -> wire.RemoteJob:
        """The job, whose files the scheduler has."""
        job = self._spec.job
        model = Path(job.model_path)
        files = {MODEL: model, WEIGHTS: model.with_suffix(".bin")}
        if job.input_path:
            files[INPUT] = Path(job.input_path)
        hashes = {name: self._cluster.send_file(path) for name, path in files.items()}
        return wire.RemoteJob(self._number, self._spec.backend, job.devices, hashes, job.seed, dict(job.options))


def value_of(method: str, answer: Message) -> Any:
    """Return the value in an answer.

    Args:
        method: one of `wire.OPERATIONS`.
        answer: from a machine.

    Raises:
        OvplaceError: the answer is an error, or the machine was lost.
    """
    machine = str(answer["worker"])
    if "error" in answer:
        raise wire.unpack_error(answer["error"], machine)
    if "lost" in answer:
        raise BackendError(str(answer["lost"]))
    try:
        return wire.unpack_value(method, answer["value"])
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise BackendError(f"machine '{machine}' answered what cannot be understood: {error}") from error
