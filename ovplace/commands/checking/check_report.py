"""The outcome of `ovplace check`: does the answer of a run still hold, and if not, why."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from math import inf
from typing import Any

from ovplace.core.result.run_result import RunResult, latency_to_json
from ovplace.core.statistics import Interval
from ovplace.core.verdict import Status, Verdict

SCHEMA = 1


@dataclass(frozen=True)
class Change:
    """A part of the environment that has changed since the run.

    Attributes:
        name: name of the part, such as `openvino` or `driver of GPU`.
        then: its version at the time of the run; empty if it was not there.
        now: its version now; empty if it is not there.
    """

    name: str
    then: str
    now: str


@dataclass(frozen=True)
class CheckReport:
    """The outcome of `ovplace check`.

    Attributes:
        result: the run's result.
        problem: why the answer does not hold; empty where it does.
        changes: what has changed since the run.
        runs: whether the answer compiles and runs, with outputs within the limit.
        max_rel_error: largest relative output error now; None where outputs were not checked.
        limit: largest relative output error allowed; infinite for no limit.
        latency_ms: latency in ms now; None where the answer was in no final comparison.
        verdict: verdict of the comparison now; None where the answer does not run.
        notes: what the check of the outputs cannot see.
    """

    result: RunResult
    problem: str
    changes: tuple[Change, ...] = ()
    runs: bool = False
    max_rel_error: float | None = None
    limit: float = inf
    latency_ms: Interval | None = None
    verdict: Verdict | None = None
    notes: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether the answer holds."""
        return not self.problem

    @property
    def is_undecided(self) -> bool:
        """Whether more rounds may still show that the answer holds, as its gain is neither shown nor refuted."""
        now = self.verdict.status if self.verdict else None
        return not self.holds and self.result.is_faster and now == Status.SAME

    def to_json(self) -> dict[str, Any]:
        """Return what `ovplace check --json` prints."""
        result = self.result
        errors = {"then": result.accuracy.max_rel_error, "now": self.max_rel_error}
        then, now = result.best.latency_ms, self.latency_ms
        return {
            "schema": SCHEMA,
            "run": str(result.folder),
            "answer": result.best.origin,
            "holds": self.holds,
            "problem": self.problem,
            "changes": [asdict(change) for change in self.changes],
            "runs": self.runs,
            "max_rel_error": {**errors, "limit": self.limit if self.limit < inf else None},
            "latency_ms": {"then": then and latency_to_json(then), "now": now and latency_to_json(now)},
            "verdict": {"then": result.verdict.to_json(), "now": self.verdict.to_json() if self.verdict else None},
            "notes": list(self.notes),
        }
