"""Placements measured at once by the machines of a fleet, each in turns with the reference on the same machine."""

from __future__ import annotations

import queue
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace

from ovplace.core.measurement import Candidate, Measurement, MeasureSpec
from ovplace.core.placement import Placement
from ovplace.errors import OvplaceError
from ovplace.fleet.channel import Message
from ovplace.fleet.cluster import POLL_S
from ovplace.fleet.pool import FleetPool
from ovplace.search.flight import Landed
from ovplace.search.machine_watch import MachineWatch
from ovplace.search.staging import Staging
from ovplace.session.deadline import TimeIsUpError
from ovplace.session.measurer import Measurer


@dataclass
class _Trial:
    number: int
    key: str
    candidate: Candidate
    limit_s: float


class FleetFlight:
    """Gives placements to whichever machine of the run's class is free, and lands them as answers come."""

    def __init__(
        self, pool: FleetPool, measurer: Measurer, staging: Staging, reference: Candidate, spec: MeasureSpec
    ) -> None:
        """Begin with none.

        Args:
            pool: the machines.
            measurer: the run's measurer.
            staging: how placements are measured.
            reference: what each is timed in turns with.
            spec: how to time.
        """
        self._pool, self._measurer, self._staging = pool, measurer, staging
        self._reference, self._spec = reference, spec
        self._answers: queue.SimpleQueue[tuple[_Trial, Message | BaseException]] = queue.SimpleQueue()
        self._landed: list[Landed] = []
        self._asked: dict[str, list[int]] = {}
        self._watch = MachineWatch(reference.name)

    @property
    def room(self) -> int:
        """Number of machines that measure now; one where all are away, which may come back."""
        return max(1, len(self._pool.machines))

    @property
    def notes(self) -> Mapping[str, str]:
        """Why machines were set aside, by name."""
        return self._watch.aside

    def start(self, number: int, placement: Placement) -> None:
        """Give a placement to a machine, unless its measurement is known, or on its way for another trial.

        Args:
            number: number of the trial.
            placement: the device of each operation, `[N]`.

        Raises:
            TimeIsUpError: there is no time left for it.
        """
        candidate = self._staging.candidate(f"trial {number}", placement)
        key = self._measurer.key(candidate, [self._reference], self._spec)
        if stored := self._measurer.store.find(key):
            self._landed.append(Landed(number, key, stored, cached=True))
        elif key in self._asked:
            self._asked[key].append(number)
        else:
            self._asked[key] = [number]
            self._submit(_Trial(number, key, candidate, self._measurer.deadline.cut(self._spec.deadline_s)))

    def next(self) -> Landed:
        """Return a placement that is measured, as soon as there is one.

        Raises:
            BackendError: the scheduler or all machines are gone, or no machine can measure.
            TimeIsUpError: there is no time left.
        """
        with self._measurer.seconds.counting("requests"):
            while not self._landed:
                trial, answer = self._wait()
                if isinstance(answer, BaseException):
                    raise answer
                self._land(trial, answer)
        return self._landed.pop(0)

    def stop(self) -> None:
        """Forget those that are not measured; machines end them, and nobody waits for that."""
        self._asked.clear()
        self._landed.clear()
        self._answers = queue.SimpleQueue()

    def _submit(self, trial: _Trial) -> None:
        both = [trial.candidate] if self._is_reference(trial) else [trial.candidate, self._reference]
        answers = self._answers
        asked = self._pool.submit(both, replace(self._spec, deadline_s=trial.limit_s))
        asked.add_done_callback(lambda done: answers.put((trial, done.exception() or done.result())))

    def _wait(self) -> tuple[_Trial, Message | BaseException]:
        since = time.monotonic()
        while True:
            try:
                return self._answers.get(timeout=POLL_S)
            except queue.Empty:
                if self._measurer.deadline.is_over:  # a machine began late, and waits for its own time limit
                    raise TimeIsUpError from None
                since = self._pool.check_machines(since)

    def _land(self, trial: _Trial, answer: Message) -> None:
        try:
            measured = self._pool.measurements(answer, 1 if self._is_reference(trial) else 2)
        except OvplaceError as error:
            machine = str(answer["worker"])
            self._watch.set_aside(machine, str(error))
            self._pool.exclude(machine)
            if not self._pool.machines:
                raise
            self._submit(trial)
            return
        limited = trial.limit_s < self._spec.deadline_s
        stored = self._measurer.paired(measured * (3 - len(measured)), limited=limited)
        self._observe(str(answer["worker"]), measured[-1])
        first, *others = self._asked.pop(trial.key)
        self._landed.append(Landed(first, trial.key, stored, cached=False))
        self._landed += [Landed(number, trial.key, stored, cached=True) for number in others]

    def _observe(self, machine: str, reference: Measurement) -> None:
        n_machines = len(self._pool.machines)
        if n_machines > 1 and self._watch.observe(machine, reference.median_ms, n_machines):
            self._pool.exclude(machine)

    def _is_reference(self, trial: _Trial) -> bool:
        return trial.candidate.hash == self._reference.hash
