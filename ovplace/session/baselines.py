"""The baselines: what a user would run without this tool. They are measured first and compete."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass

import numpy as np

from ovplace.core.measurement import Candidate, ErrorKind, Measurement, MeasureSpec
from ovplace.core.placement import Placement
from ovplace.errors import BackendError
from ovplace.graphs.op_graph import OpGraph
from ovplace.session.deadline import TimeIsUpError
from ovplace.session.events import Listener, Progress
from ovplace.session.limited_baselines import NOT_MEASURED, fitting_spec, measure_alone
from ovplace.session.measurer import ATTEMPTS, Measurer, latency_ratio
from ovplace.session.outputs import error_limit, why_outputs_differ
from ovplace.session.session import Session
from ovplace.store.run_db import RunStore, StoredMeasurement

_REFERENCE = "reference"
"""Key in the run's store of the single device that its placements are measured in turns with."""


@dataclass(frozen=True)
class Baseline:
    """A measured baseline.

    Attributes:
        candidate: what was compiled.
        measurement: its measurement.
        ratio: its latency over the reference's, measured in turns.
        competes: whether it may be the answer. A plugin's default precision may not, as it computes other numbers.
        placement: its placement; None where OpenVINO's choice is not known.
    """

    candidate: Candidate
    measurement: Measurement
    ratio: float
    competes: bool
    placement: Placement | None = None

    @property
    def name(self) -> str:
        """Its name in tables."""
        return self.candidate.name


def reference_of(store: RunStore) -> str:
    """Return what ratios of a run's trials are relative to: a single device, in words where its name is not stored."""
    return str(store.get(_REFERENCE) or "the best single device")


def distinct_answers(baselines: Sequence[Baseline]) -> list[Baseline]:
    """Return the baselines that work and may be the answer, one a placement, the first of each.

    HETERO's automatic choice is often one device; then that device alone is the plainer name of the same answer.

    Args:
        baselines: measured, single devices first.
    """
    distinct: dict[str, Baseline] = {}
    for baseline in baselines:
        if baseline.competes and baseline.measurement.ok and baseline.placement:
            distinct.setdefault(baseline.placement.hash, baseline)
    return list(distinct.values())


def automatic_modes(names: Sequence[str]) -> list[Candidate]:
    """Return HETERO's automatic mode with each device first, the others in their order; none for a single device.

    Args:
        names: names of the devices.
    """
    if len(names) == 1:
        return []
    targets = ["HETERO:" + ",".join([first, *(name for name in names if name != first)]) for first in names]
    return [Candidate(f"{target} (automatic)", target=target) for target in targets]


def measure_baselines(measurer: Measurer, spec: MeasureSpec, listener: Listener) -> list[Baseline]:
    """Measure every single device, HETERO's automatic mode in each order, AUTO, and each plugin's default.

    Args:
        measurer: the run's measurer; gets the limit of output errors, which single devices tell.
        spec: how long and how often.
        listener: is called with each step.

    Returns:
        Single devices first. The first of them is the reference of all later measurements: the fastest, or the one that
        placements of earlier calls were timed with.

    Raises:
        BackendError: no single device can run the model.
    """
    others = list(_others(measurer.session))
    total = len(measurer.session.devices) + len(others)
    listener(Progress("baselines", 0, total, "single devices"))
    baselines = _singles(measurer, spec)
    reference, fastest = baselines[0].candidate, min(baselines, key=lambda b: b.measurement.median_ms)
    measurer.store.put(_REFERENCE, reference.name)
    alone = {baseline.name: baseline.measurement for baseline in baselines}
    for candidate, competes in others:
        listener(Progress("baselines", len(baselines), total, candidate.name))
        stored = _stored_pair(measurer, candidate, reference, spec, alone, check=competes)
        placement = _automatic(measurer.session, candidate.target, stored.measurement) if competes else None
        baselines.append(
            Baseline(candidate, stored.measurement, stored.ratio, competes and placement is not None, placement)
        )
    listener(Progress("baselines", total, total, f"the best single device is {fastest.name}"))
    return baselines


def _singles(measurer: Measurer, spec: MeasureSpec) -> list[Baseline]:
    names = measurer.session.problem.device_names
    n = len(measurer.session.graph)
    candidates = [Candidate(name, Placement.uniform(n, name, names)) for name in names]
    measurer.error_limit = error_limit(measurer.session)
    measured = _stored_or_measured(measurer, candidates, spec)
    measurer.error_limit = error_limit(measurer.session, measured)
    measured = [measurer.check_outputs(m) for m in measured]
    best = min(measured, key=lambda m: m.median_ms)
    if not best.ok:
        raise BackendError(_nothing_works(measurer.session.graph, candidates, measured))
    reference = _earlier_reference(measurer.store, dict(zip(names, measured, strict=True))) or best
    pairs = zip(candidates, measured, strict=True)
    found = [Baseline(c, m, latency_ratio(m, reference), True, c.placement) for c, m in pairs]
    return sorted(found, key=lambda b: (b.measurement is not reference, b.measurement.median_ms))


def _earlier_reference(store: RunStore, measured: Mapping[str, Measurement]) -> Measurement | None:
    """Return what was measured of the device that the run's trials are relative to; None without such, or if it failed.

    An earlier call may have had no time for the device that proves the fastest now.
    """
    found = measured.get(reference_of(store)) if store.count_trials() else None
    return found if found and found.ok else None


def _stored_or_measured(measurer: Measurer, candidates: Sequence[Candidate], spec: MeasureSpec) -> list[Measurement]:
    keys = [measurer.key(candidate, candidates, spec) for candidate in candidates]
    stored = [measurer.store.find(key) for key in keys]
    if all(stored):
        return [s.measurement for s in stored if s]
    if measurer.time.is_limited:
        measured, fitted = measure_alone(measurer, candidates, spec)
        if fitted != spec or NOT_MEASURED in measured:
            return measured
    else:
        measured = [measurer.check_outputs(m) for m in measurer.in_turns_or_alone(candidates, spec)]
    if not any(m.ok for m in measured):  # the call ends with an error; the next one tries again
        return measured
    for key, candidate, m in zip(keys, candidates, measured, strict=True):
        measurer.store.put_measurement(key, candidate.name, StoredMeasurement(m, 1.0))
    return measured


def _stored_pair(
    measurer: Measurer,
    candidate: Candidate,
    reference: Candidate,
    spec: MeasureSpec,
    alone: Mapping[str, Measurement],
    *,
    check: bool,
) -> StoredMeasurement:
    """Return a further baseline in turns with the reference, measured less or not at all where time is short."""
    if stored := measurer.store.find(measurer.key(candidate, [reference], spec)):
        return stored
    fitted = fitting_spec(measurer, candidate, spec, alone)
    try:
        if fitted is not None:
            return measurer.stored_pair(candidate, reference, fitted, ATTEMPTS, check=check)
    except TimeIsUpError:
        pass
    return StoredMeasurement(NOT_MEASURED, float("inf"))


def _others(session: Session) -> Iterator[tuple[Candidate, bool]]:
    """Yield the other baselines, and whether each may be the answer."""
    names = session.problem.device_names
    yield from ((candidate, True) for candidate in automatic_modes(names))
    if len(names) > 1:
        # AUTO puts the whole model on one device, which is a baseline already; this shows how well it chooses.
        target = "AUTO:" + ",".join(names)
        yield Candidate(target, target=target), False
    for device in session.defaults:
        name = f"{device.base} (default precision)"
        yield Candidate(name, Placement.uniform(len(session.graph), device.name)), False


def _automatic(session: Session, target: str, measured: Measurement) -> Placement | None:
    """Return the placement that HETERO's automatic mode comes to, None where that is not certain.

    Source: openvino `src/plugins/hetero/src/plugin.cpp`: each device in turn gets all it supports of what is left.
    """
    problem = session.problem
    order = [problem.device_names.index(name) for name in target.removeprefix("HETERO:").split(",")]
    supported = problem.supported[:, order]
    if not supported.any(axis=1).all():
        return None
    placement = Placement(np.array(order)[supported.argmax(axis=1)], problem.device_names)
    if placement.is_uniform:  # unconnected parts are submodels of their own
        return placement if set(measured.submodels) == set(placement.used) else None
    expected = placement.submodels(session.graph)  # HETERO may run them in another order
    return placement if sorted(measured.submodels) == sorted(expected) else None


def _nothing_works(graph: OpGraph, candidates: Sequence[Candidate], measured: Sequence[Measurement]) -> str:
    reasons = [f"{c.name}: {m.error}: {m.error_text[:160]}" for c, m in zip(candidates, measured, strict=True)]
    return f"no single device runs the model ({'; '.join(reasons)}); {_advice(graph, {m.error for m in measured})}"


def _advice(graph: OpGraph, errors: Set[ErrorKind | None]) -> str:
    """Return what to do about a model that no device runs, by the kinds of its failures."""
    only_outputs = errors == {ErrorKind.OUTPUT_MISMATCH}
    why = why_outputs_differ(graph) if ErrorKind.OUTPUT_MISMATCH in errors else ""
    steps = ["allow larger errors with --max-error"] if why or only_outputs else []
    steps += ["raise measure.deadline_s with --set"] if ErrorKind.TIMEOUT in errors else []
    steps += [] if only_outputs else ["choose other devices with -d"]
    return (f"{why}, " if why else "") + " or ".join(steps)
