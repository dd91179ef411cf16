"""Placements that are asked for and not measured yet."""

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
class Landed:
    """A placement that is measured.

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


class Flight(Protocol):
    """Placements that are asked for and not measured yet."""

    @property
    def room(self) -> int:
        """Number of placements that can be measured at once."""

    @property
    def notes(self) -> Mapping[str, str]:
        """Remarks on machines for the result, by their names."""

    def start(self, number: int, placement: Placement) -> None:
        """Add a placement.

        Args:
            number: number of the trial.
            placement: the device of each operation, `[N]`.
        """

    def next(self) -> Landed:
        """Return one that is measured, as soon as there is one; some must have been started.

        Raises:
            TimeIsUpError: there is no time left for it.
        """

    def stop(self) -> None:
        """Forget those that are not measured."""


@dataclass
class OneByOne:
    """Measures here, in the order of starting, each when its result is asked for.

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
    room: int = 1
    notes: Mapping[str, str] = field(default_factory=dict)
    _waiting: deque[tuple[int, Placement]] = field(default_factory=deque)

    def start(self, number: int, placement: Placement) -> None:
        """Add a placement.

        Args:
            number: number of the trial.
            placement: the device of each operation, `[N]`.
        """
        self._waiting.append((number, placement))

    def next(self) -> Landed:
        """Measure the first one, unless the store knows it.

        Raises:
            TimeIsUpError: there is no time left for it.
        """
        number, placement = self._waiting.popleft()
        candidate = self.staging.candidate(f"trial {number}", placement)
        key = self.measurer.key(candidate, [self.reference], self.spec)
        if stored := self.measurer.store.find(key):
            return Landed(number, key, stored, cached=True)
        return Landed(number, key, self.measurer.measure_pair(candidate, self.reference, self.spec), cached=False)

    def stop(self) -> None:
        """Forget those that are not measured."""
        self._waiting.clear()
