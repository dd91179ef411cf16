"""Measuring candidates in turns in a fresh process, hence with compilations of their own, through the store."""

from __future__ import annotations

from collections.abc import Sequence

from ovplace.core.measurement import Candidate, Measurement, MeasureSpec
from ovplace.session.baselines import ATTEMPTS
from ovplace.session.measurer import Measurer, latency_ratio
from ovplace.store.run_db import StoredMeasurement


def measured_afresh(
    measurer: Measurer, candidates: Sequence[Candidate], spec: MeasureSpec, name: str
) -> list[Measurement]:
    """Return one measurement for each candidate: from the store if all are there, else measured now.

    Args:
        measurer: measures and stores.
        candidates: at least two.
        spec: how long and how often.
        name: what tells it from other measurements of the same candidates, such as `round 3`.
    """
    keys = [f"{measurer.key(candidate, candidates, spec)} {name}" for candidate in candidates]
    stored = [measurer.store.find(key) for key in keys]
    if all(stored):
        return [s.measurement for s in stored if s]
    measurer.session.pool.recycle()
    measured = measurer.measure(candidates, spec, ATTEMPTS)
    for key, candidate, m in zip(keys, candidates, measured, strict=True):
        measurer.store.put_measurement(key, candidate.name, StoredMeasurement(m, latency_ratio(m, measured[1])))
    return measured
