"""Requests to the machines of a fleet, which measure placements at once, each in turns with the reference there."""

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
from ovplace.search.machine_watch import MachineWatch
from ovplace.search.requests import Answer
from ovplace.search.staging import Staging
from ovplace.session.deadline import TimeIsUpError
from ovplace.session.measurer import Measurer


@dataclass
class _Request:
    number: int
    key: str
    candidate: Candidate
    limit_s: float


class FleetRequests:
    """Gives placements to whichever machine of the run's class is free, and takes the answers as they come."""

    def __init__(
        self, pool: FleetPool, measurer: Measurer, staging: Staging, reference: Candidate, spec: MeasureSpec
    ) -> None:
        """Ask for nothing yet.

        Args:
            pool: the machines.
            measurer: the run's measurer.
            staging: how placements are measured.
            reference: what each is timed in turns with.
            spec: how to time.
        """
        self._pool, self._measurer, self._staging = pool, measurer, staging
        self._reference, self._spec = reference, spec
        self._arrived: queue.SimpleQueue[tuple[_Request, Message | BaseException]] = queue.SimpleQueue()
        self._answers: list[Answer] = []
        self._asked: dict[str, list[int]] = {}
        self._watch = MachineWatch(measurer.session.shown(reference.name))

    @property
    def capacity(self) -> int:
        """Number of machines that measure now; one where all are away, which may come back."""
        return max(1, len(self._pool.machines))

    @property
    def notes(self) -> Mapping[str, str]:
        """Why machines were set aside, by name."""
        return self._watch.aside

    def submit(self, number: int, placement: Placement) -> None:
        """Give a placement to a machine, unless its measurement is known, or asked for by another trial.

        Args:
            number: number of the trial.
            placement: the device of each operation, `[N]`.

        Raises:
            TimeIsUpError: there is no time left for it.
        """
        candidate = self._staging.candidate(f"trial {number}", placement)
        key = self._measurer.key(candidate, [self._reference], self._spec)
        if stored := self._measurer.store.find(key):
            self._answers.append(Answer(number, key, stored, cached=True))
        elif key in self._asked:
            self._asked[key].append(number)
        else:
            self._asked[key] = [number]
            self._submit(_Request(number, key, candidate, self._measurer.deadline.cut(self._spec.deadline_s)))

    def next_answer(self) -> Answer:
        """Return an answer that was not returned yet, as soon as there is one.

        Raises:
            BackendError: the scheduler or all machines are gone, or no machine can measure.
            TimeIsUpError: there is no time left.
        """
        with self._measurer.seconds.counting("requests"):
            while not self._answers:
                request, answer = self._wait()
                if isinstance(answer, BaseException):
                    raise answer
                self._take(request, answer)
        return self._answers.pop(0)

    def cancel(self) -> None:
        """Forget all that is not answered; machines end it, and nobody waits for that."""
        self._asked.clear()
        self._answers.clear()
        self._arrived = queue.SimpleQueue()

    def _submit(self, request: _Request) -> None:
        both = [request.candidate] if self._is_reference(request) else [request.candidate, self._reference]
        arrived = self._arrived
        asked = self._pool.submit(both, replace(self._spec, deadline_s=request.limit_s))
        asked.add_done_callback(lambda done: arrived.put((request, done.exception() or done.result())))

    def _wait(self) -> tuple[_Request, Message | BaseException]:
        since = time.monotonic()
        while True:
            try:
                return self._arrived.get(timeout=POLL_S)
            except queue.Empty:
                if self._measurer.deadline.is_over:  # a machine began late, and waits for its own time limit
                    raise TimeIsUpError from None
                since = self._pool.check_machines(since)

    def _take(self, request: _Request, answer: Message) -> None:
        try:
            measured = self._pool.measurements(answer, 1 if self._is_reference(request) else 2)
        except OvplaceError as error:
            machine = str(answer["worker"])
            self._watch.set_aside(machine, str(error))
            self._pool.exclude(machine)
            if not self._pool.machines:
                raise
            self._submit(request)
            return
        limited = request.limit_s < self._spec.deadline_s
        stored = self._measurer.paired(measured * (3 - len(measured)), limited=limited)
        self._observe(str(answer["worker"]), measured[-1])
        first, *others = self._asked.pop(request.key)
        self._answers.append(Answer(first, request.key, stored, cached=False))
        self._answers += [Answer(number, request.key, stored, cached=True) for number in others]

    def _observe(self, machine: str, reference: Measurement) -> None:
        n_machines = len(self._pool.machines)
        if n_machines > 1 and self._watch.observe(machine, reference.median_ms, n_machines):
            self._pool.exclude(machine)

    def _is_reference(self, request: _Request) -> bool:
        return request.candidate.hash == self._reference.hash
