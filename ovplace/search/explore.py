"""The findings of a run: baselines, profile, search and final comparison, each within its share of the time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from ovplace.core.certificate import Certificate
from ovplace.core.cost_table import CostTable
from ovplace.core.measurement import Candidate, ErrorKind, MeasureSpec, Trial
from ovplace.devices.openvino_version import version_notes
from ovplace.plugins.protocols import Placer
from ovplace.profiling.obtain import Costs, kept_costs, obtain_costs
from ovplace.search.busy_machine import busy_notes
from ovplace.search.comparison.final_comparison import FinalComparison, comparable, decide
from ovplace.search.early_exit import why_hopeless
from ovplace.search.loop import Budget, Loop
from ovplace.search.requests import LocalRequests, Requests
from ovplace.search.result import Findings
from ovplace.search.staging import Staging, stages_over_hetero, staging_notes
from ovplace.search.time_limit import expected_s, time_notes, with_labels, with_reference, with_time_left
from ovplace.session.baselines import Baseline, measure_baselines
from ovplace.session.deadline import Phase
from ovplace.session.events import Listener
from ovplace.session.measurer import Measurer
from ovplace.session.outputs import inexact_notes, mismatch_notes, not_finite_notes
from ovplace.session.session import Session
from ovplace.session.site import Fleet


def explore(measurer: Measurer, listener: Listener, earlier_answer: str = "") -> Findings:
    """Measure the baselines, profile, search and decide.

    Args:
        measurer: the run's measurer.
        listener: is called with each step.
        earlier_answer: hash of the placement that an earlier call answered with; empty where there is none.

    Returns:
        All that was found out but for the command and the time of the whole call.

    Raises:
        OvplaceError: no single device runs the model, or the measuring process cannot be started.
    """
    session = measurer.session
    listener = with_labels(with_time_left(listener, measurer), session)
    baselines = limiting_baselines(measurer, listener)
    listener = with_reference(listener, session.shown(baselines[0].name))
    searched = _search(measurer, baselines, listener)
    about = searched.costs.about if searched.costs else None
    with measurer.seconds.counting("comparison"):
        comparison = decide(measurer, baselines, searched.trials, listener, searched.table, earlier_answer)
    return Findings(
        session,
        baselines,
        searched.trials,
        _with_notes(comparison, _notes(measurer, baselines, searched)),
        measurer.seconds,
        costs=about,
        certificate=searched.certificate,
        info=searched.info,
        stages_over_hetero=stages_over_hetero(measurer.store),
        aside=searched.aside,
        skipped=bool(searched.hopeless),
    )


@dataclass(frozen=True)
class _Searched:
    """The findings of profile and search; empty where there was nothing to search.

    Attributes:
        trials: placements that were measured; where there was no time, those of earlier calls.
        costs: costs of groups and cuts, of earlier calls where there was no time; None where the placer needs none.
        certificate: what the placer proves of its best placement; None for nothing.
        info: what the placer tells of itself.
        notes: what the placer notes of the search, and whether its policy has diverged.
        hopeless: why no search was needed; empty where one was.
        aside: why machines of the fleet were set aside, by name.
        cut: whether time ended the search.
    """

    trials: Sequence[Trial] = ()
    costs: Costs | None = None
    certificate: Certificate | None = None
    info: Mapping[str, float] = field(default_factory=dict)
    notes: Sequence[str] = ()
    hopeless: str = ""
    aside: Mapping[str, str] = field(default_factory=dict)
    cut: bool = False

    @property
    def table(self) -> CostTable | None:
        return self.costs.table if self.costs else None


def _notes(measurer: Measurer, baselines: Sequence[Baseline], searched: _Searched) -> list[str]:
    """Return what there is to know about the search beside its result."""
    session, about = measurer.session, searched.costs.about if searched.costs else None
    found, shown = time_notes(measurer, searched.trials, about, cut=searched.cut), session.shown
    if searched.hopeless:
        found = (searched.hopeless,)
    differing = [shown(b.name) for b in baselines if b.measurement.error == ErrorKind.OUTPUT_MISMATCH]
    busy = busy_notes(shown(baselines[0].name), searched.trials)
    of_outputs = [*mismatch_notes(session.graph, differing), *inexact_notes(session, _rounding(session, baselines))]
    of_outputs += not_finite_notes(session.facts)
    of_machine = [*busy, *version_notes(session.facts)]
    return [*found, *searched.notes, *staging_notes(measurer.store), *of_machine, *of_outputs, *_aside(searched)]


def _rounding(session: Session, baselines: Sequence[Baseline]) -> dict[str, float]:
    """Return the output error of each single device that works and may compute in less than f32, by its name."""
    pairs = zip(session.devices, baselines, strict=False)  # the devices' are the first
    return {
        session.shown(baseline.name): baseline.measurement.max_error
        for device, baseline in pairs
        if baseline.measurement.ok and device.computes_in != "f32"
    }


def _aside(searched: _Searched) -> list[str]:
    return [f"machine '{name}' was set aside: {why}" for name, why in searched.aside.items()]


def limiting_baselines(measurer: Measurer, listener: Listener) -> list[Baseline]:
    """Return the baselines, measured, and set the limits of placements: what baselines take and err tells theirs.

    Args:
        measurer: the run's measurer; gets the limit of output errors and what to expect of the time.
        listener: is called with each step.

    Raises:
        BackendError: no single device runs the model.
    """
    session = measurer.session
    measurer.enter(Phase.BASELINES)
    with measurer.seconds.counting("baselines"):
        baselines = measure_baselines(measurer, session.config.measure, listener)
    measurer.time = measurer.time.expecting(*expected_s(session, baselines))
    return baselines


def _search(measurer: Measurer, baselines: Sequence[Baseline], listener: Listener) -> _Searched:
    measurer.enter(Phase.PROFILE)
    placer, is_late = measurer.session.config.plugins.placer, measurer.deadline.left_s <= 0
    needs_costs = placer.needs_costs()
    if is_late or not measurer.session.problem.is_divisible:
        return _Searched(measurer.store.trials(), kept_costs(measurer) if needs_costs else None, cut=is_late)
    costs: Costs | None = None
    if needs_costs:
        with measurer.seconds.counting("profiling"):
            costs = obtain_costs(measurer, baselines, listener)
    table = costs.table if costs else None
    measurer.enter(Phase.SEARCH)
    hopeless = why_hopeless(measurer.session, baselines, costs, measurer.time.proof_s)
    with measurer.seconds.searching():
        loop = make_loop(measurer, baselines[0], listener, table)
        trials = measurer.store.trials() if hopeless else loop.run()
        aside = dict(loop.requests.notes)
        while not hopeless and not comparable(trials, baselines) and measurer.extend():
            loop = make_loop(measurer, baselines[0], listener, table)
            loop.suffices = lambda trial: bool(comparable([trial], baselines))  # the rest is for the comparison
            trials = loop.run()
            aside |= loop.requests.notes
        cut = measurer.deadline.left_s <= 0  # before the certificate, which may take seconds
    with placer.blaming():
        certificate, info, notes = _told_by(loop.placer, measurer.time.proof_s)
    told = [*notes, loop.diverged] if loop.diverged else notes
    return _Searched(trials, costs, certificate, info, told, hopeless, aside, cut)


def _told_by(placer: Placer, limit_s: float) -> tuple[Certificate | None, dict[str, float], list[str]]:
    """Return what a placer tells of its search, as the result can hold it: its certificate, numbers and notes."""
    certificate, info, notes = placer.certificate(limit_s), placer.info, placer.notes
    if not isinstance(certificate, Certificate | None):
        raise TypeError(f"certificate() returned {type(certificate).__name__} in place of a Certificate")
    if isinstance(notes, str) or not all(isinstance(note, str) for note in notes):
        raise TypeError(f"notes must be a sequence of strings, got {notes!r}")
    numbers = {name: value if isinstance(value, int | float) else float(value) for name, value in info.items()}
    return certificate, numbers, [*notes]


def _with_notes(comparison: FinalComparison, found: Sequence[str]) -> FinalComparison:
    verdict = comparison.verdict
    return replace(comparison, verdict=replace(verdict, notes=(*verdict.notes, *found)))


def make_loop(measurer: Measurer, reference: Baseline, listener: Listener, costs: CostTable | None = None) -> Loop:
    """Return the search loop of a run.

    Args:
        measurer: the run's measurer.
        reference: the baseline that placements are measured in turns with.
        listener: is called with each step.
        costs: cost table for placers that work with one.
    """
    search, problem = measurer.session.config.search, measurer.session.problem
    placer, measure = measurer.session.config.plugins.placer, measurer.session.config.measure
    shared = replace(reference.candidate, reference=True)
    staging = Staging(measurer, shared, measure, measurer.session.runs_stages)
    return Loop(
        placer=placer.build(replace(problem, costs=costs) if costs else problem),
        measurer=measurer,
        requests=_requests(measurer, staging, shared, measure.of_trial()),
        budget=Budget(search.measurements, search.batch),
        origin=search.placer,
        listener=listener,
    )


def _requests(measurer: Measurer, staging: Staging, reference: Candidate, spec: MeasureSpec) -> Requests:
    if not isinstance(measurer.session.site, Fleet):
        return LocalRequests(measurer, staging, reference, spec)
    from ovplace.fleet.pool import FleetPool
    from ovplace.search.fleet_requests import FleetRequests

    assert isinstance(measurer.session.pool, FleetPool)
    return FleetRequests(measurer.session.pool, measurer, staging, reference, spec)
