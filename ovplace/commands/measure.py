"""Measuring without a search: each device alone, HETERO's choice, one placement."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

from ovplace.config.schema import RunConfig
from ovplace.core.device import Device
from ovplace.core.measurement import Candidate, Measurement, MeasureSpec, OutputError
from ovplace.core.placement import Placement
from ovplace.core.statistics import Interval, median_interval
from ovplace.errors import DeviceError
from ovplace.seeds import generator
from ovplace.session.events import Listener, Progress
from ovplace.session.session import Session, check_settings, open_session
from ovplace.store.run_folder import RunFolder


@dataclass(frozen=True)
class Percentiles:
    """The latency of one candidate.

    Attributes:
        median: in ms, with its 95 % interval.
        p90: 90th percentile in ms.
        p99: 99th percentile in ms.
        samples: number of samples.
    """

    median: Interval
    p90: float
    p99: float
    samples: int


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
        max_rel_error: largest relative output error; None where outputs were not checked.
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
        environment: what the backend says of versions and hardware.
    """

    path: str
    hash: str
    ops: int
    devices: tuple[Device, ...]
    note: str
    measured: tuple[MeasuredCandidate, ...]
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
            "environment": dict(self.environment),
        }


def _row_to_json(row: MeasuredCandidate) -> dict[str, object]:
    found = row.latency_ms
    latency = found and asdict(found) | {"median": found.median.value, "ci95": [found.median.low, found.median.high]}
    return asdict(row) | {"latency_ms": latency, "submodels": list(row.submodels)}


def measure(config: RunConfig, table: Mapping[str, str] | None, listener: Listener) -> MeasureReport:
    """Measure every device alone, HETERO's own choice where `-d HETERO:...` asks for it, and a placement, in turns.

    Args:
        config: names the model and the devices; `[comparison]` says how long each is timed.
        table: device of every operation of the prepared model; None for no placement.
        listener: is called with each step.

    Raises:
        OvplaceError: the model, a device or the placement is not usable.
    """
    check_settings(config)
    with tempfile.TemporaryDirectory() as folder:
        session = open_session(config, RunFolder(Path(folder)), listener)
        try:
            candidates = _candidates(session, table)
            listener(Progress("measure", 0, 1, f"{len(candidates)} in turns"))
            measured = session.pool.measure(candidates, _spec(config, len(candidates)))
            listener(Progress("measure", 1, 1))
            return _report(session, candidates, measured)
        finally:
            session.pool.close()


def _candidates(session: Session, table: Mapping[str, str] | None) -> list[Candidate]:
    names, text = session.problem.device_names, session.config.search.device.strip()
    candidates = [Candidate(name, Placement.uniform(len(session.graph), name)) for name in names]
    if text.startswith("HETERO:") and len(names) > 1:
        target = f"HETERO:{','.join(names)}"
        candidates.append(Candidate(f"{target} (automatic)", target=target))
    if table is not None:
        candidates.append(Candidate("the placement", _placement(session, table)))
    return candidates


def _placement(session: Session, table: Mapping[str, str]) -> Placement:
    placement = Placement.from_names(session.graph, table)
    known = session.problem.device_names
    unknown = [name for name in placement.devices if name not in known]
    if unknown:
        raise DeviceError(
            f"the placement uses device '{unknown[0]}', measured are {', '.join(known)}; name all its devices with -d"
        )
    return placement


def _spec(config: RunConfig, candidates: int) -> MeasureSpec:
    duel, one = config.comparison, config.measure
    return replace(
        one,
        blocks=duel.blocks,
        repeats=duel.repeats,
        min_time_ms=duel.min_time_ms,
        hopeless_ratio=1e9,  # asked for by name: everything is timed fully
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
        environment=session.facts,
    )


def _row(session: Session, candidate: Candidate, m: Measurement) -> MeasuredCandidate:
    return MeasuredCandidate(
        name=candidate.name,
        latency_ms=_latency(session, candidate, m) if m.ok else None,
        compile_ms=m.compile_ms,
        first_ms=m.first_ms,
        submodels=m.submodels,
        runs_on=m.facts.get("execution_devices", ""),
        outputs=m.outputs,
        max_rel_error=m.max_error if m.outputs and np.isfinite(m.max_error) else None,
        error=f"{m.error}: {m.error_text}" if m.error else None,
    )


def _latency(session: Session, candidate: Candidate, m: Measurement) -> Percentiles:
    samples = np.array(m.samples_ms)
    median = median_interval(samples, generator(session.config.search.seed, "latency", candidate.name))
    p90, p99 = np.percentile(samples, (90, 99))
    return Percentiles(median, float(p90), float(p99), len(samples))
