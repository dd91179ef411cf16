"""Building the result of a run from what it has found out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ovplace.core.certificate import Certificate, finite
from ovplace.core.device import Device
from ovplace.core.measurement import Measurement, Trial
from ovplace.core.result import RunResult
from ovplace.core.result_parts import (
    Accuracy,
    BaselineSummary,
    BestPlacement,
    DeviceSummary,
    Environment,
    ModelSummary,
    OutsideFraction,
    SearchSummary,
    TimeSpent,
)
from ovplace.core.statistics import Interval, median_interval
from ovplace.core.verdict import Status
from ovplace.search.final_comparison import FinalComparison
from ovplace.seeds import generator
from ovplace.session.baselines import Baseline
from ovplace.session.measurer import Seconds
from ovplace.session.session import Session
from ovplace.version import __version__


@dataclass(frozen=True)
class Findings:
    """All that a finished run has found out.

    Attributes:
        session: the run.
        baselines: measured, the fastest single device first.
        trials: all trials of the search, in order.
        comparison: the final comparison.
        seconds: where the time went.
        preparing_s: seconds until measuring began: model, devices, the first measuring process.
        total_s: wall time of the call.
        command: the command line; empty for a call from Python.
        costs: origin of the cost table; None where the placer needs none.
        certificate: of the placer's solver; None where it has none.
        info: numbers that the placer reports of itself, by name.
        stages_over_hetero: latency in stages over that by HETERO, of placements measured both ways, by name.
    """

    session: Session
    baselines: Sequence[Baseline]
    trials: Sequence[Trial]
    comparison: FinalComparison
    seconds: Seconds
    preparing_s: float = 0.0
    total_s: float = 0.0
    command: str = ""
    costs: Mapping[str, Any] | None = None
    certificate: Certificate | None = None
    info: Mapping[str, float] = field(default_factory=dict)
    stages_over_hetero: Mapping[str, float] = field(default_factory=dict)


def build_result(findings: Findings) -> RunResult:
    """Return the result of a run."""
    session = findings.session
    return RunResult(
        model=_model(session),
        devices=tuple(_device(device) for device in session.devices),
        note=session.selection.note,
        baselines=tuple(_baseline(findings, baseline) for baseline in findings.baselines),
        best=_best(findings),
        verdict=findings.comparison.verdict,
        accuracy=_accuracy(findings),
        search=_search(findings),
        environment=_environment(findings),
        folder=session.folder.path,
    )


def _model(session: Session) -> ModelSummary:
    graph = session.graph
    return ModelSummary(session.config.search.model, graph.content_hash, len(graph), session.problem.n_groups)


def _device(device: Device) -> DeviceSummary:
    return DeviceSummary(
        name=device.name,
        plugin=device.plugin,
        base=device.base,
        full_name=device.facts.get("full_name", ""),
        properties=dict(device.properties),
        default_precision=device.facts.get("default_precision", ""),
        emulated=device.emulated,
    )


def _latency(session: Session, measured: Sequence[Measurement], name: str) -> Interval | None:
    """Return the median latency in ms over all samples; None where there is none."""
    samples = [sample for m in measured for sample in m.samples_ms]
    if not samples:
        return None
    return median_interval(np.array(samples), generator(session.config.search.seed, "latency", name))


def _baseline(findings: Findings, baseline: Baseline) -> BaselineSummary:
    session, m = findings.session, baseline.measurement
    finally_measured = findings.comparison.measured.get(baseline.name, ())
    return BaselineSummary(
        name=baseline.name,
        latency_ms=_latency(session, [m], baseline.name),
        ratio=finite(baseline.ratio),
        competes=baseline.competes,
        submodels=tuple(m.submodels),
        runs_on=m.facts.get("execution_devices", ""),
        max_rel_error=finite(m.max_error) if m.outputs else None,
        error=f"{m.error}: {m.error_text}" if m.error else None,
        final_latency_ms=_latency(session, finally_measured, f"final {baseline.name}"),
    )


def _answer_measurements(findings: Findings) -> Sequence[Measurement]:
    """Return the measurements of the answer: the final comparison's where there was one."""
    comparison = findings.comparison
    if comparison.best:
        faster = comparison.verdict.status == Status.FASTER
        return comparison.best if faster else comparison.measured[comparison.verdict.against]
    return [next(b for b in findings.baselines if b.name == comparison.verdict.against).measurement]


def _best(findings: Findings) -> BestPlacement:
    session, placement = findings.session, findings.comparison.placement
    measured = _answer_measurements(findings)
    return BestPlacement(
        origin=findings.comparison.origin,
        latency_ms=_latency(session, measured, "best"),
        ops_per_device=placement.ops_per_device(),
        submodels=tuple(measured[0].submodels or placement.submodels(session.graph)),
        cut_bytes=placement.cut_bytes(session.graph),
        hash=placement.hash,
    )


def _accuracy(findings: Findings) -> Accuracy:
    reference = "" if findings.session.selection.simulated else "the whole model on CPU in f32"
    return Accuracy(reference, _answer_measurements(findings)[0].outputs)


def _search(findings: Findings) -> SearchSummary:
    trials, seconds = findings.trials, findings.seconds
    search = findings.session.config.search
    return SearchSummary(
        placer=search.placer,
        coarsener=search.coarsener,
        trials=len(trials),
        measured=sum(not t.cached for t in trials),
        cached=sum(t.cached for t in trials),
        failed=sum(not t.measurement.ok for t in trials),
        seconds=_time_spent(findings),
        outside_fraction=OutsideFraction(
            search=seconds.search_outside / seconds.search if seconds.search else 0.0,
            run=max(0.0, 1 - seconds.working / findings.total_s) if findings.total_s else 0.0,
        ),
        placer_info=dict(findings.info),
        costs=dict(findings.costs) if findings.costs is not None else None,
        certificate=findings.certificate,
        stages_over_hetero=dict(findings.stages_over_hetero),
    )


def _time_spent(findings: Findings) -> TimeSpent:
    seconds = findings.seconds
    return TimeSpent(
        total=findings.total_s,
        measuring=seconds.requests,
        compiling=seconds.compiling,
        inferring=seconds.inferring,
        placer=seconds.placer,
        profiling=seconds.profiling,
        search=seconds.search,
        preparing=findings.preparing_s,
        starting=seconds.starting,
        baselines=seconds.baselines,
        comparison=seconds.comparison,
    )


def _environment(findings: Findings) -> Environment:
    session = findings.session
    return Environment(
        versions={"ovplace": __version__, "openvino": session.facts.get("openvino", "")},
        simulated=session.facts.get("simulated", ""),
        cpu=session.facts.get("cpu", ""),
        platform=session.facts.get("platform", ""),
        drivers={d.name: d.facts["driver"] for d in session.devices if d.facts.get("driver")},
        seed=session.config.search.seed,
        command=findings.command,
    )
