"""Measuring what a user names, without a search: each device alone, HETERO's choice, one placement."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

from ovplace.config.schema import RunConfig
from ovplace.core.measurement import Candidate, Measurement, MeasureSpec
from ovplace.core.placement import Placement
from ovplace.core.statistics import median_interval
from ovplace.errors import DeviceError
from ovplace.seeds import generator
from ovplace.session.events import Listener, Progress
from ovplace.session.session import Session, check_settings, open_session

Data = dict[str, object]


@dataclass(frozen=True)
class Report:
    """What was measured.

    Attributes:
        data: plain data for JSON.
        failed: whether nothing at all could be measured.
    """

    data: Data
    failed: bool


def measure(config: RunConfig, table: Mapping[str, str] | None, listener: Listener) -> Report:
    """Measure every device alone, HETERO's own choice where `-d HETERO:...` asks for it, and a placement, in turns.

    Args:
        config: names the model and the devices; `[duel]` says how long each is timed.
        table: device of every operation of the prepared model; None for no placement.
        listener: is told each step.

    Raises:
        OvplaceError: the model, a device or the placement is not usable.
    """
    check_settings(config)
    with tempfile.TemporaryDirectory() as folder:
        session = open_session(config, Path(folder), listener)
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
    duel, one = config.duel, config.measure
    return replace(
        one,
        blocks=duel.blocks,
        repeats=duel.repeats,
        min_time_ms=duel.min_time_ms,
        hopeless_ratio=1e9,  # asked for by name: everything is timed fully
        deadline_s=one.deadline_s * candidates,
    )


def _report(session: Session, candidates: Sequence[Candidate], measured: Sequence[Measurement]) -> Report:
    rows = [_row(session, c, m) for c, m in zip(candidates, measured, strict=True)]
    data: Data = {
        "model": {"path": session.config.search.model, "hash": session.graph.content_hash, "ops": len(session.graph)},
        "devices": [
            {"name": d.name, "full_name": d.facts.get("full_name", ""), "properties": dict(d.properties)}
            | {"emulated": d.emulated}
            for d in session.devices
        ],
        "note": session.selection.note,
        "measured": rows,
        "environment": session.facts,
    }
    return Report(data, not any(m.ok for m in measured))


def _row(session: Session, candidate: Candidate, m: Measurement) -> Data:
    return {
        "name": candidate.name,
        "latency_ms": _latency(session, candidate, m) if m.ok else None,
        "compile_ms": m.compile_ms,
        "first_ms": m.first_ms,
        "submodels": list(m.submodels),
        "runs_on": m.facts.get("execution_devices", ""),
        "outputs": [asdict(output) for output in m.outputs],
        "max_rel_error": m.max_error if m.outputs and np.isfinite(m.max_error) else None,
        "error": f"{m.error}: {m.error_text}" if m.error else None,
    }


def _latency(session: Session, candidate: Candidate, m: Measurement) -> Data:
    samples = np.array(m.samples_ms)
    found = median_interval(samples, generator(session.config.search.seed, "latency", candidate.name))
    p90, p99 = np.percentile(samples, (90, 99))
    return {
        "median": found.value,
        "ci95": [found.low, found.high],
        "p90": float(p90),
        "p99": float(p99),
        "samples": len(samples),
    }
