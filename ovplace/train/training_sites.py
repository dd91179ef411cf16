"""Where a training runs: in a process on this machine, or on a machine of a fleet."""

from __future__ import annotations

import threading
import time
import uuid
from concurrent.futures import Future
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ovplace.atomic import replacing
from ovplace.core.text.json_text import parse_json
from ovplace.errors import BackendError, InterruptedRunError, OvplaceError, StoreError
from ovplace.learning.policy_file import PolicyFile
from ovplace.train.training_plan import TrainingPlan
from ovplace.train.training_process import TrainingProcess
from ovplace.train.worker_training import check_names

if TYPE_CHECKING:
    from ovplace.fleet.cluster import Cluster

Data = dict[str, Any]

DEADLINE_S = 86400.0
"""The longest that one training may take on a machine of a fleet."""


class TrainsHere:
    """Trains in processes on this machine."""

    def __init__(self, jobs: int) -> None:
        """Start nothing yet.

        Args:
            jobs: trainings at the same time.
        """
        self.jobs = jobs
        self._processes: set[TrainingProcess] = set()
        self._lock, self._stopped = threading.Lock(), False

    def train(self, plan: TrainingPlan, output: Path) -> Data:
        """Train in a process; one that was stopped continues from its state file.

        Args:
            plan: the training.
            output: path of the policy file.

        Raises:
            OvplaceError: as `run_training` does, or the process ended without an answer.
        """
        with self._lock:
            if self._stopped:
                raise InterruptedRunError("stopped")
            process = TrainingProcess(plan.text, output)
            self._processes.add(process)
        try:
            return process.run()
        finally:
            with self._lock:
                self._processes.discard(process)

    def stop(self) -> None:
        """Let all trainings save and end."""
        with self._lock:
            self._stopped, processes = True, list(self._processes)
        for process in processes:
            process.interrupt()  # all at once: each takes a moment to save
        for process in processes:
            process.end()


class TrainsOnFleet:
    """Trains on the machines of a fleet, as many at a time as there are; what a lost machine has done is lost.

    A machine that cannot train, for one because it has no torch, is asked for no more, and another one trains instead.

    Attributes:
        jobs: trainings that are asked for at the same time.
        aside: why machines are asked for no more, by name.
    """

    def __init__(self, cluster: Cluster, jobs: int) -> None:
        """Ask for nothing yet.

        Args:
            cluster: the fleet.
            jobs: trainings that are asked for at the same time.
        """
        self.jobs, self.aside = jobs, dict[str, str]()
        self._cluster, self._stopped = cluster, threading.Event()

    def train(self, plan: TrainingPlan, output: Path) -> Data:
        """Train on whichever machine is free, and write the policy that it sends.

        Args:
            plan: the training.
            output: path of the policy file.

        Raises:
            OvplaceError: the training names files of this machine, no machine can train, or it answers what is no
                policy.
        """
        check_names(plan.text)
        answer = self._trained(plan.text)
        try:
            output.parent.mkdir(parents=True, exist_ok=True)
            with replacing(output) as temporary:
                temporary.write_bytes(answer["policy"])
        except OSError as error:
            raise StoreError(f"cannot write '{output}': {error.strerror}; choose another file with -o") from error
        PolicyFile.read(output, plan.config.placer)  # refuses what is none
        try:
            report: Data = parse_json(answer["report"])
        except ValueError as error:
            raise BackendError("a machine ended a training without a report; the same command tries again") from error
        return report

    def stop(self) -> None:
        """Wait for no answer any more."""
        self._stopped.set()

    def _trained(self, text: str) -> Data:
        """Return what the first machine that can train answers.

        Raises:
            OvplaceError: none can; the text is that of the last one.
        """
        from ovplace.fleet.pool import value_of
        from ovplace.fleet.wire import TRAIN

        while True:
            answer = self._wait(self._ask(text))
            try:
                found: Data = value_of(TRAIN, answer)
                return found
            except OvplaceError as error:
                if "error" not in answer:
                    raise
                self._set_aside(str(answer["worker"]), str(error))
                if not self._machines:
                    raise

    def _ask(self, text: str) -> Future[Data]:
        from ovplace.fleet.machine import simulated_class
        from ovplace.fleet.wire import TRAIN, RemoteJob

        job = RemoteJob(uuid.uuid4().hex, "", (), {})
        return self._cluster.submit(job, TRAIN, (text,), DEADLINE_S, simulated_class(), at_home=False)

    def _set_aside(self, machine: str, why: str) -> None:
        self.aside[machine] = why
        self._cluster.exclude(machine)

    @property
    def _machines(self) -> list[str]:
        """Names of the machines that can train, as far as is known."""
        from ovplace.fleet.machine import simulated_class

        return [machine.name for machine in self._cluster.machines(simulated_class()) if machine.name not in self.aside]

    def _wait(self, asked: Future[Data]) -> Data:
        from ovplace.fleet.cluster import POLL_S, WAIT_S

        seen = time.monotonic()
        while not self._stopped.is_set():
            try:
                return asked.result(POLL_S)
            except TimeoutError:
                now = time.monotonic()
                seen = now if self._machines else seen
                if now - seen > WAIT_S:
                    raise BackendError(
                        f"no machine at '{self._cluster.address}' can train any more; start 'ovplace worker' on one, "
                        "the same command continues"
                    ) from None
        raise InterruptedRunError("stopped")
