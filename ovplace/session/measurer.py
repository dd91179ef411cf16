"""Measuring candidates in turns with a reference; nothing is measured twice, as the run's store keeps it."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import numpy as np

from ovplace.core.measurement import Candidate, ErrorKind, Measurement, MeasureSpec
from ovplace.measuring.pool import Pool
from ovplace.session.deadline import Deadline, Phase, TimeBudget, TimeIsUpError
from ovplace.session.session import Session
from ovplace.store.run_db import RunStore, StoredMeasurement, cache_key

ATTEMPTS = 3
"""Requests, at most, for what everything is compared with, which may be lost by chance."""

LOST = (ErrorKind.TIMEOUT, ErrorKind.CRASH, ErrorKind.MEMORY)
"""Failures that a request may have as a whole, whichever of its candidates is to blame, and that may not come again."""

LEAST_EXTENSION_S = 2.0
"""Time left of the call that is still worth dividing."""


@dataclass
class Seconds:
    """Wall time of a run so far, in seconds.

    Attributes:
        compiling: the runtime's compilations.
        inferring: inferences, untimed ones included.
        requests: waiting for measurements.
        placer: the placer's `ask` and `tell`.
        starting: starts of measuring processes after the first, the reference's compilation and inference included.
        baselines: the baselines as a whole.
        comparison: choosing the best placement and comparing it, as a whole.
        profiling: finding the costs of the model's parts, measuring included.
        search: the ask/tell loop as a whole.
        search_outside: part of `search` in which the runtime neither compiled nor inferred.
    """

    compiling: float = 0.0
    inferring: float = 0.0
    requests: float = 0.0
    placer: float = 0.0
    starting: float = 0.0
    baselines: float = 0.0
    comparison: float = 0.0
    profiling: float = 0.0
    search: float = 0.0
    search_outside: float = 0.0

    @property
    def working(self) -> float:
        """Seconds of compiling and inferring."""
        return self.compiling + self.inferring

    @contextmanager
    def searching(self) -> Iterator[None]:
        """Account for the loop that runs inside."""
        start, before = time.monotonic(), self.working
        yield
        self.search = time.monotonic() - start
        self.search_outside = max(0.0, self.search - (self.working - before))

    @contextmanager
    def counting(self, name: str) -> Iterator[None]:
        """Add the wall time of what runs inside to an attribute.

        Args:
            name: name of the attribute.
        """
        start = time.monotonic()
        try:
            yield
        finally:
            setattr(self, name, getattr(self, name) + time.monotonic() - start)


@dataclass
class Measurer:
    """Measures candidates for one run, and keeps what was measured in the run's store.

    Attributes:
        session: the run.
        store: its store.
        error_limit: largest relative output error a placement may have.
        seconds: time spent so far.
        time: the time of the call and its phases; unlimited by default.
        phase: the present one.
        deadline: deadline of the present phase.
    """

    session: Session
    store: RunStore
    error_limit: float = float("inf")
    seconds: Seconds = field(default_factory=Seconds)
    time: TimeBudget = field(default_factory=TimeBudget)
    phase: Phase = Phase.BASELINES
    deadline: Deadline = field(default_factory=Deadline)

    def enter(self, phase: Phase) -> None:
        """Begin a phase: what is measured from now on has to keep to its time."""
        self.phase, self.deadline = phase, self.time.deadline(phase)

    def extend(self) -> bool:
        """Let the present phase have half of the time that later ones would get; return whether that is any.

        For a search that has found nothing to compare, so that the time kept for the comparison would go to waste.
        """
        left_s = self.time.left_s
        if not self.time.is_limited or self.deadline.left_s > 0 or left_s < LEAST_EXTENSION_S:
            return False
        self.deadline = replace(self.deadline, at_s=self.time.clock() + left_s / 2)
        return True

    def key(self, candidate: Candidate, others: Sequence[Candidate], spec: MeasureSpec) -> str:
        """Return the cache key of a measurement.

        Args:
            candidate: what is measured.
            others: what it takes turns with.
            spec: how long and how often.
        """
        session = self.session
        return cache_key(
            session.graph.content_hash,
            session.input_id,
            [device.to_dict() for device in (*session.devices, *session.defaults)],
            session.facts,
            spec.key(),
            self.error_limit,
            candidate.hash,
            [other.hash for other in others],
        )

    def start_afresh(self) -> None:
        """Replace the measuring process, so that the next request compiles anew.

        Raises:
            BackendError: the process does not come up.
            TimeIsUpError: the phase has no time left, in which it could measure anything.
        """
        if self.deadline.left_s <= 0:
            raise TimeIsUpError
        with self.seconds.counting("starting"):
            self.session.start_afresh()

    def request(
        self, candidates: Sequence[Candidate], spec: MeasureSpec, pool: Pool | None = None
    ) -> list[Measurement]:
        """Measure the candidates in turns, now, and account for the time.

        Args:
            candidates: what to measure.
            spec: how long and how often.
            pool: where; the run's own pool by default.

        Returns:
            One measurement for each candidate.

        Raises:
            BackendError: the measuring process cannot be started.
            TimeIsUpError: the phase has no time left, or the request did not end within it.
        """
        limited = replace(spec, deadline_s=self.deadline.cut(spec.deadline_s))
        with self.seconds.counting("requests"):
            measured = (pool or self.session.pool).measure(candidates, limited)
        self._account(measured, limited=limited.deadline_s < spec.deadline_s)
        return measured

    def paired(self, both: Sequence[Measurement], *, limited: bool) -> StoredMeasurement:
        """Return a candidate's measurement that was made elsewhere in turns with a reference's.

        Args:
            both: the candidate's and the reference's measurement.
            limited: whether the request had less time than it may take, as the phase had no more.

        Raises:
            TimeIsUpError: it had, and did not end within it.
        """
        self._account(both[:1] if both[0] is both[1] else both, limited=limited)
        return self._compared(both, check=True)

    def _account(self, measured: Sequence[Measurement], *, limited: bool) -> None:
        """Add the time of a request to that of the run.

        Raises:
            TimeIsUpError: it had less time than it may take, and did not end within it.
        """
        if limited and all(m.error == ErrorKind.TIMEOUT for m in measured):
            raise TimeIsUpError
        for m in measured:
            self.seconds.compiling += float(m.facts.get("compiling_ms", 0)) / 1e3
            self.seconds.inferring += float(m.facts.get("inferring_ms", 0)) / 1e3

    def stored_pair(
        self, candidate: Candidate, reference: Candidate, spec: MeasureSpec, attempts: int = 1, *, check: bool = True
    ) -> StoredMeasurement:
        """Return `candidate` measured in turns with `reference`: from the store if it is there, else measured now.

        Args:
            candidate: what to measure.
            reference: what to compare with.
            spec: how long and how often.
            attempts: requests, at most, where they are lost; a trial's failure is its result.
            check: whether outputs further off than the limit make it a failure.

        Returns:
            The candidate's measurement with its ratio to the reference.
        """
        key = self.key(candidate, [reference], spec)
        stored = self.store.find(key)
        if stored is None:
            stored = self.measure_pair(candidate, reference, spec, attempts, check=check)
            self.store.put_measurement(key, candidate.name, stored)
        return stored

    def measure_pair(
        self, candidate: Candidate, reference: Candidate, spec: MeasureSpec, attempts: int = 1, *, check: bool = True
    ) -> StoredMeasurement:
        """Measure `candidate` in turns with `reference`, now.

        Args:
            candidate: what to measure.
            reference: what to compare with; may be the same.
            spec: how long and how often.
            attempts: requests, at most, where they are lost.
            check: whether outputs further off than the limit make it a failure.

        Returns:
            The candidate's measurement with its ratio to the reference.
        """
        if candidate.hash == reference.hash:
            both = self.measure([candidate], spec, attempts) * 2
        else:
            both = self.measure([candidate, reference], spec, attempts)
        return self._compared(both, check=check)

    def _compared(self, both: Sequence[Measurement], *, check: bool) -> StoredMeasurement:
        measured, reference = self.check_outputs(both[0]) if check else both[0], both[1]
        if measured.ok and reference.error:
            measured = Measurement.failed(reference.error, f"its reference failed: {reference.error_text}")
        if measured.ok and reference.outputs and not measured.outputs:
            measured = _mismatch(measured, "it has no outputs, and its reference has")
        return StoredMeasurement(measured, latency_ratio(measured, reference))

    def measure(self, candidates: Sequence[Candidate], spec: MeasureSpec, attempts: int) -> list[Measurement]:
        """Measure the candidates in turns, again where the request was lost (`was_lost`).

        Args:
            candidates: what to measure.
            spec: how long and how often.
            attempts: requests at most.

        Returns:
            One measurement for each candidate, of the last request.
        """
        measured = self.request(candidates, spec)
        for _ in range(attempts - 1):
            if not was_lost(measured):
                break
            measured = self.request(candidates, spec)
        return measured

    def in_turns_or_alone(
        self, candidates: Sequence[Candidate], spec: MeasureSpec, attempts: int = 1
    ) -> list[Measurement]:
        """Measure the candidates in turns; if that is lost each time, one by one, so that the culprit fails alone.

        Args:
            candidates: what to measure.
            spec: how long and how often.
            attempts: requests for all of them, at most; the more these are, the fewer are for each alone.

        Returns:
            One measurement for each candidate.
        """
        measured = self.measure(candidates, spec, attempts)
        if not all(m.error in LOST for m in measured):
            return measured
        alone = 1 + ATTEMPTS - attempts
        return [self.measure([candidate], spec, alone)[0] for candidate in candidates]

    def check_outputs(self, measurement: Measurement) -> Measurement:
        """Return the measurement, as a failure if its outputs are further off than the limit allows."""
        error, allowed = measurement.max_error, self.error_limit
        if not measurement.ok or (error <= allowed and np.isfinite(error)):
            return measurement
        return _mismatch(measurement, f"relative output error {error:.2g}, allowed is {allowed:.2g}")


def _mismatch(measurement: Measurement, text: str) -> Measurement:
    return replace(measurement, samples_ms=(), blocks=(), error=ErrorKind.OUTPUT_MISMATCH, error_text=text)


def was_lost(measured: Sequence[Measurement]) -> bool:
    """Return whether a request was lost, so that another one may succeed.

    A timeout or a crash is of all candidates. If there is too little memory for some of them only, they would fail
    again, and the others have been timed.

    Args:
        measured: the measurement of each candidate.
    """
    errors = {m.error for m in measured}
    return not errors.isdisjoint((ErrorKind.TIMEOUT, ErrorKind.CRASH)) or errors == {ErrorKind.MEMORY}


def latency_ratio(measured: Measurement, reference: Measurement) -> float:
    """Return the latency ratio of two measurements that took turns.

    Args:
        measured: the numerator.
        reference: the denominator.

    Returns:
        The median over blocks of the ratio of their block medians; infinite if either failed.
    """
    if not (measured.ok and reference.ok):
        return float("inf")
    a, b = measured.block_medians_ms, reference.block_medians_ms
    shared = min(len(a), len(b))
    return float(np.median(a[:shared] / b[:shared]))
