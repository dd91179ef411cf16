"""The progress of a run, as listeners get it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Progress:
    """A step of a run, reported between measurements and never during one.

    Attributes:
        phase: `prepare`, `start` (of the measuring process), `baselines`, `profile`, `search`, `finalists` or
            `final comparison`; `free machines` where a run waits for one of a fleet; `measure` and `bound` in
            `ovplace.measure` and `ovplace.bound`.
        done: steps of the phase that are done.
        total: steps of the phase; 0 where unknown.
        text: what has just happened.
        best_ratio: best latency so far over the reference's; infinite before there is one.
        phase_s: seconds that the phase may take from now on; infinite for no limit.
        later_s: seconds expected of the phases after it; infinite where unknown.
        call_s: seconds left of the call's limit; infinite for none.
        reference: the fastest single device, unless the run began with another one; empty before it is known.
    """

    phase: str
    done: int = 0
    total: int = 0
    text: str = ""
    best_ratio: float = float("inf")
    phase_s: float = float("inf")
    later_s: float = 0.0
    call_s: float = float("inf")
    reference: str = ""


Listener = Callable[[Progress], None]


def silent(_: Progress) -> None:
    """Ignore the step."""
