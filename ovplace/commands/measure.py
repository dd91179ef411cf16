"""Measuring without a search: each device alone, HETERO's choice, and placements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from math import ceil

import numpy as np

from ovplace.commands.temporary_session import placement_on_devices, temporary_session
from ovplace.config.schema import RunConfig
from ovplace.core.device import Device
from ovplace.core.measurement import NEVER_HOPELESS, Candidate, Measurement, MeasureSpec, OutputError, rotated
from ovplace.core.placement import Placement
from ovplace.core.statistics import Interval, percentile_interval, samples_needed
from ovplace.errors import DeviceError, PlacementError
from ovplace.measuring.pool import Pool
from ovplace.session.baselines import automatic_modes
from ovplace.session.events import Listener, Progress
from ovplace.session.measurer import LOST
from ovplace.session.outputs import not_finite_notes
from ovplace.session.session import Session

LEVELS = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99}
"""The percentiles of a latency."""

THE_PLACEMENT = "the placement"
"""Name of the row of a placement that is the only one."""


@dataclass(frozen=True)
class Percentiles:
    """The latency of one candidate.

    Attributes:
        median: median latency in ms.
        percentiles: p50, p90, p95 and p99 in ms with their 95 % intervals; None where there are too few samples.
        samples: number of samples.
    """

    median: float
    percentiles: Mapping[str, Interval | None]
    samples: int

    def missing(self) -> tuple[str, int] | None:
        """Return the highest percentile that could not be given, with the number of samples it needs; None if none."""
        lacking = [name for name, found in self.percentiles.items() if found is None]
        return (lacking[-1], samples_needed(LEVELS[lacking[-1]])) if lacking else None


@dataclass(frozen=True)
class MeasuredCandidate:
    """A measured device, HETERO's automatic mode, or a placement.

    Attributes:
        name: its name in tables.
        latency_ms: its latency; None where it failed.
        compile_ms: time to compile.
        first_ms: time of the first inference.
        submodels: device of each submodel, in running order.
        runs_on: the execution devices that OpenVINO names.
        outputs: the error of each output.
        max_rel_error: largest relative output error, infinite where one has another shape, or infinities or NaN
            that the CPU's has not; None where outputs were not checked.
        error: kind and text of its failure; None where it ran.
    """

    name: str
    latency_ms: Percentiles | None
    compile_ms: float
    first_ms: float
    submodels: tuple[str, ...]
    runs_on: str
    outputs: tuple[OutputError, ...]
    max_rel_error: float | None
    error: str | None


@dataclass(frozen=True)
class MeasureReport:
    """The outcome of `ovplace measure`.

    Attributes:
        path: the model file.
        hash: content hash of the prepared model.
        ops: number of its operations.
        devices: the devices.
        note: remark on the choice of devices.
        measured: each candidate's measurement.
        notes: what the check of the outputs cannot see.
        environment: versions and hardware, as the backend reports them.
    """

    path: str
    hash: str
    ops: int
    devices: tuple[Device, ...]
    note: str
    measured: tuple[MeasuredCandidate, ...]
    notes: tuple[str, ...]
    environment: Mapping[str, str]

    @property
    def failed(self) -> bool:
        """True if no candidate ran."""
        return all(row.error for row in self.measured)

    def to_json(self) -> dict[str, object]:
        """Return what `ovplace measure --json` prints."""
        return {
            "model": {"path": self.path, "hash": self.hash, "ops": self.ops},
            "devices": [
                {"name": d.name, "full_name": d.facts.get("full_name", ""), "properties": dict(d.properties)}
                | {"emulated": d.emulated}
                for d in self.devices
            ],
            "note": self.note,
            "measured": [_row_to_json(row) for row in self.measured],
            "notes": list(self.notes),
            "environment": dict(self.environment),
        }


def _row_to_json(row: MeasuredCandidate) -> dict[str, object]:
    latency = row.latency_ms and _latency_to_json(row.latency_ms)
    return asdict(row) | {"latency_ms": latency, "submodels": list(row.submodels)}


def _latency_to_json(found: Percentiles) -> dict[str, object]:
    ends = {name: [p.low, p.high] if p else None for name, p in found.percentiles.items()}
    upper = {
        name: {"value": p.value, "ci95": ends[name]} if p else None
        for name, p in found.percentiles.items()
        if name != "p50"
    }
    needed = {f"{name}_needs": samples_needed(LEVELS[name]) for name, p in found.percentiles.items() if p is None}
    return {"median": found.median, "ci95": ends["p50"], **upper, "samples": found.samples, **needed}


def measure(
    config: RunConfig,
    tables: Mapping[str, Mapping[str, str]],
    listener: Listener,
    processes: int = 1,
    *,
    every_order: bool = False,
) -> MeasureReport:
    """Measure every device alone, HETERO's own choice where `-d HETERO:...` asks for it, and placements, in turns.

    Args:
        config: names the model and the devices; `[comparison]` says how long each is timed.
        tables: placements by the names of their rows, each the device of every operation of the prepared model.
        listener: is called with each step.
        processes: fresh processes, hence compilations; several of them take enough samples for every percentile.
        every_order: measure HETERO's own choice with each device first, as a run does, whatever `-d` asks for.

    Raises:
        OvplaceError: the model, a device or the placement is not usable.
    """
    with temporary_session(config, listener) as session:
        candidates = _candidates(session, tables, every_order)
        spec = _spec(config, len(candidates), processes)
        found: list[list[Measurement]] = [[] for _ in candidates]
        for number in range(processes):
            working = rotated([i for i, of_one in enumerate(found) if all(m.ok for m in of_one)], number)
            if not working:
                break
            listener(Progress("measure", number, processes, f"{len(working)} in turns"))
            if number:
                session.start_afresh()
            for i, m in zip(working, _in_turns(session.pool, [candidates[i] for i in working], spec), strict=True):
                found[i].append(m)
        listener(Progress("measure", processes, processes))
        return _report(session, candidates, [_together(of_one) for of_one in found])


def _in_turns(pool: Pool, candidates: Sequence[Candidate], spec: MeasureSpec) -> list[Measurement]:
    """Return the measurements of candidates in turns, without those that make all of them fail by a crash or a hang."""
    measured = pool.measure(candidates, spec)
    if len(candidates) == 1 or not all(m.error in LOST for m in measured):
        return measured
    short = replace(spec, deadline_s=spec.deadline_s / len(candidates))
    alone = [pool.measure([candidate], short)[0] for candidate in candidates]
    working = [candidate for candidate, m in zip(candidates, alone, strict=True) if m.ok]
    again = iter(pool.measure(working, spec) if working else ())
    return [next(again) if m.ok else m for m in alone]


def _candidates(session: Session, tables: Mapping[str, Mapping[str, str]], every_order: bool) -> list[Candidate]:
    names, text = session.problem.device_names, session.config.search.device.strip()
    candidates = [Candidate(name, Placement.uniform(len(session.graph), name)) for name in names]
    asked_for = len(names) if every_order else int(text.startswith("HETERO:"))
    candidates += automatic_modes(names)[:asked_for]
    return candidates + [_placed(session, name, table, len(tables)) for name, table in tables.items()]


def _placed(session: Session, name: str, table: Mapping[str, str], tables: int) -> Candidate:
    try:
        return Candidate(name, placement_on_devices(session, table))
    except (DeviceError, PlacementError) as error:
        if tables > 1:
            raise type(error)(f"{name}: {error}") from error
        raise


def _together(measured: Sequence[Measurement]) -> Measurement:
    """Return the measurements of one candidate in several processes as one; a failure in any is its failure."""
    failed = next((m for m in measured if not m.ok), None)
    return failed or replace(
        measured[0],
        samples_ms=tuple(sample for m in measured for sample in m.samples_ms),
        blocks=tuple(block for m in measured for block in m.blocks),
        compile_ms=float(np.median([m.compile_ms for m in measured])),
        first_ms=float(np.median([m.first_ms for m in measured])),
    )


def _spec(config: RunConfig, candidates: int, processes: int) -> MeasureSpec:
    comparison, one = config.comparison, config.measure
    enough = ceil(max(map(samples_needed, LEVELS.values())) / (processes * comparison.blocks)) if processes > 1 else 1
    return replace(
        one,
        blocks=comparison.blocks,
        repeats=max(comparison.repeats, enough),
        min_time_ms=comparison.min_time_ms,
        hopeless_ratio=NEVER_HOPELESS,  # asked for by name
        deadline_s=one.deadline_s * candidates,
    )


def _report(session: Session, candidates: Sequence[Candidate], measured: Sequence[Measurement]) -> MeasureReport:
    return MeasureReport(
        path=session.config.search.model,
        hash=session.graph.content_hash,
        ops=len(session.graph),
        devices=session.devices,
        note=session.selection.note,
        measured=tuple(_row(session, c, m) for c, m in zip(candidates, measured, strict=True)),
        notes=not_finite_notes(session.facts),
        environment=session.facts,
    )


def _row(session: Session, candidate: Candidate, m: Measurement) -> MeasuredCandidate:
    return MeasuredCandidate(
        name=candidate.name,
        latency_ms=_latency(m) if m.ok else None,
        compile_ms=m.compile_ms,
        first_ms=m.first_ms,
        submodels=m.submodels,
        runs_on=m.facts.get("execution_devices", ""),
        outputs=m.outputs,
        max_rel_error=m.max_error if m.outputs else None,
        error=f"{m.error}: {m.error_text}" if m.error else None,
    )


def _latency(m: Measurement) -> Percentiles:
    samples = np.array(m.samples_ms)
    enough = {name: len(samples) >= samples_needed(level) for name, level in LEVELS.items()}
    found = {name: percentile_interval(samples, LEVELS[name]) if enough[name] else None for name in LEVELS}
    return Percentiles(m.median_ms, found, len(samples))
