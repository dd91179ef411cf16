"""Measures pairs of a candidate and the reference, through the store: nothing is measured twice."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import numpy as np

from ovplace.core.measurement import Candidate, ErrorKind, Measurement, MeasureSpec
from ovplace.measure.process_pool import ProcessPool
from ovplace.session.session import Session
from ovplace.store.run_db import RunStore, Stored, cache_key


@dataclass
class Seconds:
    """Where the wall time of a run went.

    Attributes:
        compiling: in the runtime's compilations.
        inferring: in inferences, untimed ones included.
        requests: waiting for measurements.
        placer: in the placer.
        profiling: finding out what the parts of the model cost, measuring included.
        search: in the ask/tell loop as a whole.
        search_outside: part of `search` in which the runtime neither compiled nor inferred.
    """

    compiling: float = 0.0
    inferring: float = 0.0
    requests: float = 0.0
    placer: float = 0.0
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


@dataclass
class Measurer:
    """The pool and the store of one run.

    Attributes:
        session: the run.
        store: its store.
        limit: largest relative output error a placement may have.
        seconds: time spent so far.
    """

    session: Session
    store: RunStore
    limit: float = float("inf")
    seconds: Seconds = field(default_factory=Seconds)

    def key(self, candidate: Candidate, beside: Sequence[Candidate], spec: MeasureSpec) -> str:
        """Return the cache key of `candidate` measured in turns with `beside`."""
        session = self.session
        return cache_key(
            session.graph.content_hash,
            session.input_id(),
            [device.to_dict() for device in (*session.devices, *session.defaults)],
            session.facts,
            spec.key(),
            self.limit,
            candidate.hash,
            [other.hash for other in beside],
        )

    def request(
        self, candidates: Sequence[Candidate], spec: MeasureSpec, pool: ProcessPool | None = None
    ) -> list[Measurement]:
        """Measure the candidates in turns, now, with the run's pool or another one, and account for the time."""
        start = time.monotonic()
        measured = (pool or self.session.pool).measure(candidates, spec)
        self.seconds.requests += time.monotonic() - start
        for m in measured:
            self.seconds.compiling += float(m.facts.get("compiling_ms", 0)) / 1e3
            self.seconds.inferring += float(m.facts.get("inferring_ms", 0)) / 1e3
        return measured

    def beside(
        self, candidate: Candidate, reference: Candidate, spec: MeasureSpec, attempts: int = 1, *, judge: bool = True
    ) -> Stored:
        """Return `candidate` measured in turns with `reference`, from the store if it is there.

        Args:
            candidate: what to measure.
            reference: what to compare with.
            spec: how.
            attempts: how often a timeout or a crash is tried again; a trial's failure is its result.
            judge: whether outputs further off than the limit make it a failure.
        """
        key = self.key(candidate, [reference], spec)
        stored = self.store.find(key)
        if stored is None:
            stored = self.fresh(candidate, reference, spec, attempts, judge=judge)
            self.store.keep(key, candidate.name, stored)
        return stored

    def fresh(
        self, candidate: Candidate, reference: Candidate, spec: MeasureSpec, attempts: int = 1, *, judge: bool = True
    ) -> Stored:
        """Return `candidate` measured in turns with `reference`, now."""
        if candidate.hash == reference.hash:
            both = self.repeated([candidate], spec, attempts) * 2
        else:
            both = self.repeated([candidate, reference], spec, attempts)
        measured = self.judged(both[0]) if judge else both[0]
        return Stored(measured, ratio(measured, both[1]))

    def repeated(self, candidates: Sequence[Candidate], spec: MeasureSpec, attempts: int) -> list[Measurement]:
        """Measure until no candidate is lost to a timeout or a crash, `attempts` times at most."""
        lost = (ErrorKind.TIMEOUT, ErrorKind.CRASH)
        measured = self.request(candidates, spec)
        for _ in range(attempts - 1):
            if not any(m.error in lost for m in measured):
                break
            measured = self.request(candidates, spec)
        return measured

    def judged(self, measurement: Measurement) -> Measurement:
        """Return the measurement, as a failure if its outputs are further off than the limit allows."""
        if not measurement.ok or (measurement.max_error <= self.limit and np.isfinite(measurement.max_error)):
            return measurement
        text = f"relative output error {measurement.max_error:.2g}, allowed is {self.limit:.2g}"
        return replace(measurement, samples_ms=(), blocks=(), error=ErrorKind.OUTPUT_MISMATCH, error_text=text)


def ratio(measured: Measurement, reference: Measurement) -> float:
    """Return the median over blocks of the latency ratio; infinite if either failed."""
    if not (measured.ok and reference.ok):
        return float("inf")
    a, b = measured.block_medians_ms, reference.block_medians_ms
    shared = min(len(a), len(b))
    return float(np.median(a[:shared] / b[:shared]))
