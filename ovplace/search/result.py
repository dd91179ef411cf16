"""Building the result of a run from what it has found out."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

import numpy as np

from ovplace.config.files import absolute
from ovplace.core.certificate import Certificate, finite
from ovplace.core.device import Device
from ovplace.core.measurement import Measurement, Trial
from ovplace.core.placement import Placement
from ovplace.core.result.parts import (
    Accuracy,
    BaselineSummary,
    BestPlacement,
    DeviceSummary,
    Environment,
    MachineSummary,
    ModelSummary,
    OutsideFraction,
    SearchSummary,
    TimeSpent,
)
from ovplace.core.result.run_result import RunResult
from ovplace.core.statistics import Interval, median_interval
from ovplace.core.verdict import Status
from ovplace.search.comparison.final_comparison import FinalComparison
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
        baselines: measured, single devices first, and of these the reference.
        trials: all trials of the search, in order.
        comparison: the final comparison.
        seconds: where the time went.
        preparing_s: seconds until measuring began: model, devices, the first measuring process.
        total_s: wall time of the call.
        command: the command line; empty for a call from Python.
        costs: origin of the cost table; None where the placer needs none.
        certificate: certificate of the placer's solver; None where it has none.
        info: numbers that the placer reports of itself, by name.
        stages_over_hetero: latency in stages over that by HETERO, of placements measured both ways, by name.
        aside: why machines of the fleet were set aside, by name.
        skipped: whether no search was needed.
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
    aside: Mapping[str, str] = field(default_factory=dict)
    skipped: bool = False


def build_result(findings: Findings) -> RunResult:
    """Return the result of a run."""
    session = findings.session
    return RunResult(
        model=_model(session),
        devices=tuple(_device(device) for device in session.devices),
        note=session.selection.note,
        baselines=tuple(_baseline(findings, baseline) for baseline in findings.baselines),
        best=_best(findings),
        found=_found(findings),
        verdict=findings.comparison.verdict,
        accuracy=_accuracy(findings),
        search=_search(findings),
        environment=environment_of(session, findings.command),
        folder=session.folder.path,
    )


def _model(session: Session) -> ModelSummary:
    graph = session.graph
    path = absolute(session.config.search.model)  # a run is read from other folders than it began in
    return ModelSummary(path, graph.content_hash, len(graph), session.problem.n_groups)


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


def _latency(session: Session, baseline: Baseline) -> Interval | None:
    """Return a baseline's median latency in ms before the search; None where it failed."""
    if not baseline.measurement.ok:
        return None
    rng = generator(session.config.search.seed, "latency", baseline.name)
    return median_interval(np.array(baseline.measurement.samples_ms), rng)


def _baseline(findings: Findings, baseline: Baseline) -> BaselineSummary:
    comparison, m = findings.comparison, baseline.measurement
    return BaselineSummary(
        name=baseline.name,
        latency_ms=_latency(findings.session, baseline),
        ratio=finite(baseline.ratio),
        competes=baseline.competes,
        submodels=tuple(m.submodels),
        runs_on=m.facts.get("execution_devices", ""),
        max_rel_error=m.max_error if m.outputs else None,
        error=f"{m.error}: {m.error_text}" if m.error else None,
        final_latency_ms=comparison.rounds.latency(baseline.name),
        final_ratio=comparison.rounds.interval(baseline.name, comparison.verdict.against),
    )


def _against(findings: Findings) -> Baseline:
    """Return the baseline that the verdict names."""
    return next(b for b in findings.baselines if b.name == findings.comparison.verdict.against)


def _best(findings: Findings) -> BestPlacement:
    comparison, found = findings.comparison, _found(findings)
    if found and comparison.verdict.status == Status.FASTER:
        return found
    against = _against(findings)
    latency = comparison.rounds.latency(against.name) if found else _latency(findings.session, against)
    return _placed(findings, comparison.origin, comparison.placement, latency, _worst(comparison.measured(against)))


def _found(findings: Findings) -> BestPlacement | None:
    """Return the placement of the search that was in the final comparison, whether it won or lost."""
    comparison = findings.comparison
    if comparison.found is None or comparison.found.placement is None:
        return None
    latency = comparison.rounds.latency(comparison.found.name)
    origin = findings.session.config.search.placer
    return _placed(findings, origin, comparison.found.placement, latency, _worst(comparison.best))


def _placed(
    findings: Findings, origin: str, placement: Placement, latency: Interval | None, measured: Measurement
) -> BestPlacement:
    graph = findings.session.graph
    return BestPlacement(
        origin=origin,
        latency_ms=latency,
        ops_per_device=placement.ops_per_device(),
        submodels=tuple(measured.submodels or placement.submodels(graph)),
        cut_bytes=placement.cut_bytes(graph),
        hash=placement.hash,
        max_rel_error=measured.max_error if measured.outputs else None,
    )


def _accuracy(findings: Findings) -> Accuracy:
    comparison = findings.comparison
    reference = "" if findings.session.selection.simulated else "the whole model on CPU in f32"
    faster = comparison.verdict.status == Status.FASTER
    measured = comparison.best if faster else comparison.measured(_against(findings))
    return Accuracy(reference, _worst(measured).outputs)


def _worst(measured: Sequence[Measurement]) -> Measurement:
    """Return the measurement whose outputs are off the most, the first of several."""
    return max(measured, key=lambda measurement: measurement.max_error)


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
        machines=_machines(findings),
    )


def _machines(findings: Findings) -> tuple[MachineSummary, ...]:
    by_name: defaultdict[str, list[Trial]] = defaultdict(list)
    for trial in findings.trials:
        if trial.machine:
            by_name[trial.machine].append(trial)
    names = sorted({*by_name, *findings.aside})
    return tuple(_machine(name, by_name[name], findings.aside.get(name, "")) for name in names)


def _machine(name: str, trials: Sequence[Trial], aside: str) -> MachineSummary:
    reference_ms = [trial.reference_ms for trial in trials if np.isfinite(trial.ratio)]
    return MachineSummary(
        name, sum(not trial.cached for trial in trials), median(reference_ms) if reference_ms else None, aside
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


def environment_of(session: Session, command: str = "") -> Environment:
    """Return the environment of a run.

    Args:
        session: the run.
        command: its command line.
    """
    return Environment(
        versions={"ovplace": __version__, "openvino": session.facts.get("openvino", "")},
        simulated=session.facts.get("simulated", ""),
        cpu=session.facts.get("cpu", ""),
        platform=session.facts.get("platform", ""),
        drivers={d.name: d.facts["driver"] for d in session.devices if d.facts.get("driver")},
        seed=session.config.search.seed,
        command=command,
    )
