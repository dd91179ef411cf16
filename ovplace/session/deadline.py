"""The time limit of a call, and until when each of its phases may measure."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import StrEnum

Clock = Callable[[], float]

GRACE_S = 2.0
"""A measurement that began in time may end this much later: what it took would be lost otherwise."""

BASELINES_SHARE = 0.4
"""Part of the limit after which no further baseline is measured."""

PROFILE_SHARE = 0.5
"""Part of the time between the baselines and the final comparison in which the parts of the model are measured."""

RESERVED_SHARES = (0.25, 0.4)
"""Part of the limit that is kept for the final comparison, at least and at most."""

FINALISTS_SHARE = 0.3
"""Part of the time of the final comparison in which finalists are measured again."""

PROOF_SHARE = 0.1
"""Part of the time left of the call that a solver may take to prove something: it measures nothing meanwhile."""


class TimeIsUpError(Exception):
    """A measurement could not begin, or did not end, within the time of its phase; it says nothing of the candidate."""


class Phase(StrEnum):
    """The phases of a call that measure, in their order."""

    BASELINES = "baselines"
    PROFILE = "profile"
    SEARCH = "search"
    FINALISTS = "finalists"
    COMPARISON = "final comparison"


@dataclass(frozen=True)
class Deadline:
    """A moment after which nothing may be measured.

    Attributes:
        at_s: that moment on the clock, in seconds; infinite for none.
        grace_s: seconds that a request which began before may end after it.
        clock: seconds, monotonic.
    """

    at_s: float = float("inf")
    grace_s: float = GRACE_S
    clock: Clock = time.monotonic

    @property
    def left_s(self) -> float:
        """Seconds until then; negative afterwards."""
        return self.at_s - self.clock()

    @property
    def is_over(self) -> bool:
        """Whether even a request that began in time must have ended."""
        return self.left_s < -self.grace_s

    def with_grace(self, grace_s: float) -> Deadline:
        """Return the deadline with a longer grace."""
        return replace(self, grace_s=max(self.grace_s, grace_s))

    def cut(self, deadline_s: float) -> float:
        """Return the time limit of a request that begins now: its own, or what is left with some grace.

        Raises:
            TimeIsUpError: nothing is left.
        """
        if self.left_s <= 0:
            raise TimeIsUpError
        return min(deadline_s, self.left_s + self.grace_s)


@dataclass(frozen=True)
class TimeBudget:
    """The measuring time of one call, shared out to its phases. What a phase leaves goes to the later ones.

    Attributes:
        start_s: when the model was prepared and measuring began, on the clock.
        limit_s: seconds from then to the end of the call; infinite for no limit.
        search_s: what the search is expected to take without a limit, in seconds.
        comparison_s: what the final comparison is expected to take without a limit, in seconds.
        clock: seconds, monotonic.
    """

    start_s: float = field(default_factory=time.monotonic)
    limit_s: float = float("inf")
    search_s: float = float("inf")
    comparison_s: float = 0.0
    clock: Clock = time.monotonic

    @property
    def is_limited(self) -> bool:
        """True if the call has a limit."""
        return self.limit_s < float("inf")

    @property
    def reserved_s(self) -> float:
        """Seconds kept for the final comparison."""
        if not self.is_limited:
            return self.comparison_s
        least, most = (share * self.limit_s for share in RESERVED_SHARES)
        return min(max(self.comparison_s, least), most)

    @property
    def left_s(self) -> float:
        """Seconds until the end of the call; infinite for no limit."""
        return self.start_s + self.limit_s - self.clock()

    @property
    def proof_s(self) -> float:
        """Seconds that a proof which begins now may take; infinite for no limit."""
        return max(0.0, PROOF_SHARE * self.left_s)

    def expecting(self, search_s: float, comparison_s: float) -> TimeBudget:
        """Return the budget with other expectations.

        Args:
            search_s: seconds of the search without a limit.
            comparison_s: seconds of the final comparison without a limit.
        """
        return replace(self, search_s=search_s, comparison_s=comparison_s)

    def later_s(self, phase: Phase) -> float:
        """Return the seconds expected of the phases after the present one; infinite where unknown."""
        comparing_s = min(self.comparison_s, self.reserved_s)
        searching_s = min(self.search_s, (1 - PROFILE_SHARE) * max(0.0, self.left_s - self.reserved_s))
        return {
            Phase.BASELINES: float("inf"),
            Phase.PROFILE: searching_s + comparing_s,
            Phase.SEARCH: comparing_s,
            Phase.FINALISTS: (1 - FINALISTS_SHARE) * comparing_s,
            Phase.COMPARISON: 0.0,
        }[phase]

    def deadline(self, phase: Phase) -> Deadline:
        """Return until when a phase that begins now may measure."""
        if not self.is_limited:
            return Deadline(clock=self.clock)
        end, now = self.start_s + self.limit_s, self.clock()
        until = end - self.reserved_s
        ends = {
            Phase.BASELINES: self.start_s + BASELINES_SHARE * self.limit_s,
            Phase.PROFILE: now + PROFILE_SHARE * (until - now),
            Phase.SEARCH: until,
            Phase.FINALISTS: now + FINALISTS_SHARE * (end - now),
            Phase.COMPARISON: end,
        }
        return Deadline(ends[phase], clock=self.clock)
