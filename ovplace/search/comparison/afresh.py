"""Candidates in turns in a fresh process, compiled there or imported from what an earlier one compiled."""

from __future__ import annotations

from collections.abc import Sequence

from ovplace.core.measurement import Candidate, Measurement, MeasureSpec, rotated
from ovplace.session.measurer import ATTEMPTS, Measurer, latency_ratio
from ovplace.store.run_db import StoredMeasurement


def measured_afresh(
    measurer: Measurer, candidates: Sequence[Candidate], spec: MeasureSpec, phase: str, number: int
) -> list[Measurement]:
    """Return one measurement for each candidate: from the store if all are there, else measured now.

    Each is stored with its ratio to the second candidate, which in a round is the best baseline.

    Args:
        measurer: measures and stores.
        candidates: at least two.
        spec: how long and how often.
        phase: what the process is for, such as `round`; tells it from other measurements of the same candidates.
        number: number of the process in this phase. Each begins with another candidate, so that what the first or the
            last one compiled has in its favour evens out.

    Raises:
        BackendError: the process does not come up.
        TimeIsUpError: not all is stored, and there is no time for it.
    """
    if stored := stored_afresh(measurer, candidates, spec, phase, number):
        return stored
    measurer.start_afresh()
    measured = rotated(measurer.in_turns_or_alone(rotated(candidates, number), spec, ATTEMPTS), -number)
    for key, candidate, m in zip(_keys(measurer, candidates, spec, phase, number), candidates, measured, strict=True):
        measurer.store.put_measurement(key, candidate.name, StoredMeasurement(m, latency_ratio(m, measured[1])))
    return measured


def stored_afresh(
    measurer: Measurer, candidates: Sequence[Candidate], spec: MeasureSpec, phase: str, number: int
) -> list[Measurement]:
    """Return what `measured_afresh` would without measuring, which takes no time; nothing unless all is stored.

    Args:
        measurer: knows the store.
        candidates: at least two.
        spec: how long and how often.
        phase: what the process was for.
        number: number of the process in this phase.
    """
    stored = [measurer.store.find(key) for key in _keys(measurer, candidates, spec, phase, number)]
    return [s.measurement for s in stored if s] if all(stored) else []


def _keys(measurer: Measurer, candidates: Sequence[Candidate], spec: MeasureSpec, phase: str, number: int) -> list[str]:
    return [f"{measurer.key(candidate, candidates, spec)} {phase} {number}" for candidate in candidates]
