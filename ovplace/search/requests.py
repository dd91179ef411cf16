"""Requests to measure the placements that a placer asks for, and their answers."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from ovplace.core.measurement import Candidate, MeasureSpec
from ovplace.core.placement import Placement
from ovplace.search.staging import Staging
from ovplace.session.measurer import Measurer
from ovplace.store.run_db import StoredMeasurement


@dataclass(frozen=True)
class Answer:
    """The measurement of a placement that was asked for.

    Attributes:
        number: number of the trial.
        key: cache key of the measurement.
        stored: the measurement.
        cached: whether it was known without measuring.
    """

    number: int
    key: str
    stored: StoredMeasurement
    cached: bool


class Requests(Protocol):
    """Requests to measure placements."""

    @property
    def capacity(self) -> int:
        """Number of placements that can be measured at once."""

    @property
    def notes(self) -> Mapping[str, str]:
        """Remarks on machines for the result, by their names."""

    def submit(self, number: int, placement: Placement) -> None:
        """Ask for the measurement of a placement.

        Args:
            number: number of the trial.
            placement: the device of each operation, `[N]`.
        """

    def next_answer(self) -> Answer:
        """Return an answer that was not returned yet, as soon as there is one; some placement must be open.

        Raises:
            TimeIsUpError: there is no time left for it.
        """

    def cancel(self) -> None:
        """Forget all that is not answered."""


@dataclass
class LocalRequests:
    """Measures here, in the order of the requests, each when its answer is wanted.

    Attributes:
        measurer: the run's measurer.
        staging: how placements are measured.
        reference: what each is timed in turns with.
        spec: how to time.
    """

    measurer: Measurer
    staging: Staging
    reference: Candidate
    spec: MeasureSpec
    capacity: int = 1
    notes: Mapping[str, str] = field(default_factory=dict)
    _waiting: deque[tuple[int, Placement]] = field(default_factory=deque)

    def submit(self, number: int, placement: Placement) -> None:
        """Ask for the measurement of a placement.

        Args:
            number: number of the trial.
            placement: the device of each operation, `[N]`.
        """
        self._waiting.append((number, placement))

    def next_answer(self) -> Answer:
        """Measure the first placement that waits, unless the store knows it.

        Raises:
            TimeIsUpError: there is no time left for it.
        """
        number, placement = self._waiting.popleft()
        candidate = self.staging.candidate(f"trial {number}", placement)
        key = self.measurer.key(candidate, [self.reference], self.spec)
        if stored := self.measurer.store.find(key):
            return Answer(number, key, stored, cached=True)
        return Answer(number, key, self.measurer.measure_pair(candidate, self.reference, self.spec), cached=False)

    def cancel(self) -> None:
        """Forget all that is not answered."""
        self._waiting.clear()
