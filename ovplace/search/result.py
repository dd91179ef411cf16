"""The result of a run: what `result.json` holds, and the files beside it."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ovplace.core.certificate import Certificate
from ovplace.core.device import Device
from ovplace.core.measurement import Measurement, Trial
from ovplace.core.statistics import Interval, median_interval
from ovplace.errors import StoreError
from ovplace.search.final_comparison import Duel
from ovplace.search.verdict import FASTER
from ovplace.seeds import generator
from ovplace.session.baselines import Baseline
from ovplace.session.measurer import Seconds
from ovplace.session.session import Session

SCHEMA = 1
Data = dict[str, object]


@dataclass(frozen=True)
class Outcome:
    """All that a finished run has found out; `costs` and `certificate` where the placer works with a cost model.

    `info` is what the placer says of itself, numbers by name.
    """

    session: Session
    baselines: Sequence[Baseline]
    trials: Sequence[Trial]
    duel: Duel
    seconds: Seconds
    total_s: float
    command: str
    costs: Mapping[str, Any] | None = None
    certificate: Certificate | None = None
    info: Mapping[str, float] = field(default_factory=dict)


def to_data(outcome: Outcome) -> Data:
    """Return `result.json` as plain data; its fields are described in the design's section on the command line."""
    return {
        "schema": SCHEMA,
        "model": _model(outcome.session),
        "devices": [_device(device) for device in outcome.session.devices],
        "note": outcome.session.selection.note,
        "baselines": [_baseline(outcome.session, baseline) for baseline in outcome.baselines],
        "best": _best(outcome),
        "verdict": _verdict(outcome.duel),
        "accuracy": _accuracy(outcome),
        "search": _search(outcome),
        "environment": _environment(outcome),
    }


def write_json(path: Path, data: object) -> None:
    """Write `data` so that a crash leaves either the old file or the new one.

    Raises:
        StoreError: the file cannot be written.
    """
    temporary = path.with_suffix(".tmp")
    try:
        temporary.write_text(json.dumps(data, indent=2) + "\n", encoding="utf-8")
        os.replace(temporary, path)  # noqa: PTH105 - both are paths already
    except OSError as error:
        raise StoreError(f"cannot write '{path}': {error.strerror}; check the folder and the disk") from error


def _model(session: Session) -> Data:
    return {
        "path": session.config.search.model,
        "hash": session.graph.content_hash,
        "ops": len(session.graph),
        "groups": session.problem.n_groups,
    }


def _device(device: Device) -> Data:
    return {
        "name": device.name,
        "plugin": device.plugin,
        "base": device.base,
        "full_name": device.facts.get("full_name", ""),
        "properties": dict(device.properties),
        "default_precision": device.facts.get("default_precision", ""),
        "emulated": device.emulated,
    }


def _latency(session: Session, measured: Sequence[Measurement], name: str) -> Data | None:
    samples = [sample for m in measured for sample in m.samples_ms]
    if not samples:
        return None
    found = median_interval(np.array(samples), generator(session.config.search.seed, "latency", name))
    return {"median": found.value, "ci95": [found.low, found.high]}


def _baseline(session: Session, baseline: Baseline) -> Data:
    m = baseline.measurement
    return {
        "name": baseline.name,
        "latency_ms": _latency(session, [m], baseline.name),
        "ratio": _finite(baseline.ratio),
        "competes": baseline.competes,
        "submodels": list(m.submodels),
        "runs_on": m.facts.get("execution_devices", ""),
        "max_rel_error": _finite(m.max_error) if m.outputs else None,
        "error": f"{m.error}: {m.error_text}" if m.error else None,
    }


def _answer_measurements(outcome: Outcome) -> Sequence[Measurement]:
    """Return the measurements of the answer: the duel's where there was one."""
    duel = outcome.duel
    if duel.best:
        return duel.best if duel.verdict.status == FASTER else duel.against
    return [next(b for b in outcome.baselines if b.name == duel.verdict.against).measurement]


def _best(outcome: Outcome) -> Data:
    session, placement = outcome.session, outcome.duel.verdict.placement
    measured = _answer_measurements(outcome)
    return {
        "origin": outcome.duel.verdict.origin,
        "latency_ms": _latency(session, measured, "best"),
        "ops_per_device": placement.ops_per_device(),
        "submodels": list(measured[0].submodels) or placement.submodels(session.graph),
        "cut_bytes": placement.cut_bytes(session.graph),
        "hash": placement.hash,
    }


def _interval(interval: Interval | None) -> Data | None:
    return {"ratio": interval.value, "ci95": [interval.low, interval.high]} if interval else None


def _verdict(duel: Duel) -> Data:
    verdict = duel.verdict
    return {
        "status": verdict.status,
        "against": verdict.against,
        "ratio": verdict.ratio.value if verdict.ratio else None,
        "ci95": [verdict.ratio.low, verdict.ratio.high] if verdict.ratio else None,
        "null_control": _interval(verdict.null_control),
        "defaults": {name: _interval(interval) for name, interval in verdict.defaults.items()},
        "notes": list(verdict.notes),
    }


def _accuracy(outcome: Outcome) -> Data:
    return {
        "reference": "" if outcome.session.selection.simulated else "the whole model on CPU in f32",
        "outputs": [asdict(output) for output in _answer_measurements(outcome)[0].outputs],
    }


def _search(outcome: Outcome) -> Data:
    trials, seconds = outcome.trials, outcome.seconds
    return {
        "placer": outcome.session.config.search.placer,
        "coarsener": outcome.session.config.search.coarsener,
        "trials": len(trials),
        "measured": sum(not t.cached for t in trials),
        "cached": sum(t.cached for t in trials),
        "failed": sum(not t.measurement.ok for t in trials),
        "seconds": {
            "total": outcome.total_s,
            "measuring": seconds.requests,
            "compiling": seconds.compiling,
            "inferring": seconds.inferring,
            "placer": seconds.placer,
            "profiling": seconds.profiling,
            "search": seconds.search,
        },
        "outside_fraction": {
            "search": seconds.search_outside / seconds.search if seconds.search else 0.0,
            "run": max(0.0, 1 - seconds.working / outcome.total_s) if outcome.total_s else 0.0,
        },
        **({"placer_info": dict(outcome.info)} if outcome.info else {}),
        **_cost_model(outcome),
    }


def _cost_model(outcome: Outcome) -> Data:
    data: Data = {"costs": dict(outcome.costs)} if outcome.costs is not None else {}
    if outcome.certificate is not None:
        found = outcome.certificate
        data["certificate"] = asdict(found) | {
            "lower_bound_ms": _finite(found.lower_bound_ms),
            "gap": _finite(found.gap),
        }
    return data


def _environment(outcome: Outcome) -> Data:
    from ovplace.version import __version__

    drivers: Mapping[str, str] = {d.name: d.facts["driver"] for d in outcome.session.devices if d.facts.get("driver")}
    return {
        "versions": {"ovplace": __version__, "openvino": outcome.session.facts.get("openvino", "")},
        "simulated": outcome.session.facts.get("simulated", ""),
        "cpu": outcome.session.facts.get("cpu", ""),
        "platform": outcome.session.facts.get("platform", ""),
        "drivers": dict(drivers),
        "seed": outcome.session.config.search.seed,
        "command": outcome.command,
    }


def _finite(value: float) -> float | None:
    return value if np.isfinite(value) else None
