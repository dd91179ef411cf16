"""The baselines of a call whose time is limited: fewer inferences on slow devices, none where they cannot fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ovplace.core.measurement import Candidate, ErrorKind, Measurement, MeasureSpec
from ovplace.session.deadline import Deadline, TimeIsUpError
from ovplace.session.fitting import fitting
from ovplace.session.measurer import ATTEMPTS, LOST, Measurer
from ovplace.session.session import Session

REPEATED_SHARE = 0.05
"""Part of the limit that each automatic mode may take which comes to a single device, measured already."""

NOT_MEASURED = Measurement.failed(ErrorKind.TIMEOUT, "not measured within the time of the call")
"""Stands for a baseline that had no time. It is not stored: a later call may have more."""


def measure_alone(
    measurer: Measurer, candidates: Sequence[Candidate], spec: MeasureSpec
) -> tuple[list[Measurement], MeasureSpec]:
    """Measure single devices: each by itself for one sample, then those that work in turns, as the time allows.

    CPUs come first, and until one device works, none is cut short: without any there is no answer.

    Args:
        measurer: the run's measurer.
        candidates: one for each device of the run.
        spec: how long and how often, at best.

    Returns:
        One measurement for each candidate, and how long and how often all of them were measured at least.
    """
    devices, found = measurer.session.devices, dict[int, Measurement]()
    for d in sorted(range(len(candidates)), key=lambda d: devices[d].plugin != "CPU"):
        certain = any(m.ok for m in found.values())
        found[d] = _once(measurer, candidates[d], spec, measurer.deadline if certain else Deadline())
    found = dict(sorted(found.items()))
    working = [d for d, m in found.items() if m.ok]
    fitted = fitting(spec, [found[d] for d in working], measurer.deadline.left_s / 2) if working else None
    if fitted is not None and fitted != spec.one_sample():
        again = _or_none(measurer, [candidates[d] for d in working], fitted)
        if all(m.ok for m in again):
            found.update(zip(working, again, strict=True))
            return list(found.values()), fitted
    return list(found.values()), spec.one_sample()


def fitting_spec(
    measurer: Measurer, candidate: Candidate, spec: MeasureSpec, alone: Mapping[str, Measurement]
) -> MeasureSpec | None:
    """Return how long and how often a further baseline can be measured; None where there is no time for it.

    Args:
        measurer: the run's measurer.
        candidate: the baseline.
        spec: how long and how often, at best.
        alone: measurement of each single device, by its name.
    """
    if not measurer.time.is_limited:
        return spec
    devices = _devices_of(measurer.session, candidate)
    if any(alone[name].error == ErrorKind.TIMEOUT for name in devices):
        return None
    # A device that cannot run the whole model may still run a part of it; how long that takes is not known.
    used = [alone[name] for name in devices if alone[name].ok] or [m for m in alone.values() if m.ok]
    left_s = measurer.deadline.left_s
    if candidate.target.startswith("AUTO:") or (candidate.target and len(devices) == 1):
        left_s = min(left_s, REPEATED_SHARE * measurer.time.limit_s)
    compiling_s = sum(m.compile_ms for m in used) / 1e3
    slowest = max(used, key=lambda m: m.median_ms)
    fastest = min(alone.values(), key=lambda m: m.median_ms)
    return fitting(spec, [slowest, fastest], left_s - compiling_s)


def _once(measurer: Measurer, candidate: Candidate, spec: MeasureSpec, deadline: Deadline) -> Measurement:
    earlier, measurer.deadline = measurer.deadline, deadline
    try:
        for _ in range(ATTEMPTS):
            found = _or_none(measurer, [candidate], spec.one_sample())[0]
            if found.error not in LOST or found.error == ErrorKind.TIMEOUT:  # which would take as long again
                break
        return found
    finally:
        measurer.deadline = earlier


def _or_none(measurer: Measurer, candidates: Sequence[Candidate], spec: MeasureSpec) -> list[Measurement]:
    try:
        return [measurer.check_outputs(m) for m in measurer.request(candidates, spec)]
    except TimeIsUpError:
        return [NOT_MEASURED] * len(candidates)


def _devices_of(session: Session, candidate: Candidate) -> Sequence[str]:
    """Return the devices of the run that a baseline compiles for, or the one behind an alias."""
    names = session.problem.device_names
    if candidate.placement is None:
        mode, _, order = candidate.target.partition(":")
        first = order.split(",")[0]
        is_one = mode == "HETERO" and session.problem.supported[:, names.index(first)].all()
        return [first] if is_one else names
    base = {device.name: device.base for device in (*session.devices, *session.defaults)}
    return [next(d.name for d in session.devices if d.base == base[name]) for name in candidate.placement.used]
