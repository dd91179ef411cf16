"""Whether placements fail, and how: each is run once, in a process of its own."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf, isfinite

from ovplace.core.measurement import Candidate, ErrorKind, Measurement, MeasureSpec
from ovplace.core.placement import Placement
from ovplace.measuring.pool import Pool


@dataclass
class Oracle:
    """Runs placements of one model, each once.

    Attributes:
        pool: runs them.
        deadline_s: time limit of each, in seconds.
        limit: relative output error beyond which outputs are wrong; infinite ones always are.
        budget: placements that may still be run; those beyond count as working.
    """

    pool: Pool
    deadline_s: float
    limit: float = inf
    budget: int = 1
    _known: dict[str, Measurement] = field(default_factory=dict)

    @property
    def runs(self) -> int:
        """Number of placements that were run."""
        return len(self._known)

    def measured(self, placement: Placement) -> Measurement:
        """Return a placement's measurement, of one inference."""
        if placement.hash not in self._known:
            self.budget -= 1
            spec = MeasureSpec(warmup=0, blocks=1, repeats=1, min_time_ms=0.0, deadline_s=self.deadline_s)
            self._known[placement.hash] = self.pool.measure([Candidate("the placement", placement)], spec)[0]
        return self._known[placement.hash]

    def failure(self, placement: Placement) -> ErrorKind | None:
        """Return how a placement fails; None where it works."""
        measured = self.measured(placement)
        wrong = measured.ok and not (measured.max_error <= self.limit and isfinite(measured.max_error))
        return ErrorKind.OUTPUT_MISMATCH if wrong else measured.error

    def fails(self, placement: Placement, kind: ErrorKind) -> bool:
        """Return whether a placement fails in this way; False, too, where the budget is spent.

        Args:
            placement: to be run.
            kind: how it has to fail.
        """
        spent = self.budget <= 0 and placement.hash not in self._known
        return not spent and self.failure(placement) == kind

    def said(self, placement: Placement) -> str:
        """Return how a placement fails, in words."""
        measured = self.measured(placement)
        return measured.error_text or f"relative output error {measured.max_error:.2g}, allowed is {self.limit:.2g}"
