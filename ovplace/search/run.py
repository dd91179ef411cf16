"""A whole run: set-up, baselines, search, final comparison, files."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from ovplace.config.resolve import resolved
from ovplace.config.schema import RunConfig
from ovplace.core.cost_table import CostTable
from ovplace.core.measurement import Trial
from ovplace.core.placement import Placement
from ovplace.core.result import RunResult
from ovplace.errors import InterruptedRunError
from ovplace.profiling.obtain import Costs, obtain_costs
from ovplace.search.continuation import check_fingerprints, open_store
from ovplace.search.final_comparison import FinalComparison, decide
from ovplace.search.loop import Budget, Loop
from ovplace.search.result import Findings, build_result
from ovplace.search.staging import Staging, stages_over_hetero
from ovplace.search.time_limit import expected_s, notes, with_time_left
from ovplace.session.baselines import Baseline, measure_baselines
from ovplace.session.deadline import Phase, TimeBudget
from ovplace.session.events import Listener, silent
from ovplace.session.measurer import Measurer
from ovplace.session.session import Session, check_settings, open_session
from ovplace.store.run_db import RunStore
from ovplace.store.run_folder import RunFolder

F32_LIMIT = 1e-3
"""Relative output error that a placement on f32 devices may have where the user sets none. Two correct f32
implementations of the benchmark models differ by 3e-4 at most; a faulty kernel is off by the signal itself."""

_PROVENANCE = ("verdict", "best", "environment")
"""Parts of the result that the placed model carries, too."""


def run(config: RunConfig, path: Path, listener: Listener = silent, command: str = "") -> RunResult:
    """Run, or continue, a search.

    Args:
        config: the effective configuration.
        path: the run folder.
        listener: is called with each step.
        command: the command line to note in the result.

    Returns:
        The result, which the folder holds, too.

    Raises:
        OvplaceError: with its own text; what was measured until then is in the folder, and the same call continues.
        InterruptedRunError: Ctrl-C; likewise.
    """
    start = time.monotonic()
    config = resolved(config)
    check_settings(config)
    folder = RunFolder(path)
    store = open_store(config, folder)
    try:
        fingerprints = check_fingerprints(config, folder, store)
        session = open_session(config, folder, listener)
        try:
            # Only now, as model and devices have proved good: a mistyped call must not occupy the folder.
            folder.write_config(config)
            for key, value in fingerprints.items():
                store.put(key, value)
            return _search(session, store, listener, start, command)
        finally:
            session.pool.close()
    except KeyboardInterrupt as error:
        raise InterruptedRunError(
            f"stopped; everything measured is saved, the same command continues in '{folder}'"
        ) from error
    finally:
        store.close()


def _search(session: Session, store: RunStore, listener: Listener, start: float, command: str) -> RunResult:
    now, time_s = time.monotonic(), session.config.search.time_s
    measurer = Measurer(session, store, time=TimeBudget(now, start + time_s - now if time_s else float("inf")))
    findings = explore(measurer, listener)
    findings = replace(findings, preparing_s=now - start, total_s=time.monotonic() - start, command=command)
    result = build_result(findings)
    _write_answer(session, result, findings.comparison.placement)
    return result


def explore(measurer: Measurer, listener: Listener) -> Findings:
    """Measure the baselines, profile, search and decide, each within its share of the time.

    Args:
        measurer: of the run.
        listener: is called with each step.

    Returns:
        All that was found out but for the command and the time of the whole call.

    Raises:
        OvplaceError: no single device runs the model, or the measuring process cannot be started.
    """
    session, listener = measurer.session, with_time_left(listener, measurer)
    measurer.limit = _asked_limit(session)
    measurer.enter(Phase.BASELINES)
    with measurer.seconds.counting("baselines"):
        baselines = measure_baselines(measurer, session.config.measure, listener)
    measurer.limit = error_limit(session, baselines)
    measurer.time = measurer.time.expecting(*expected_s(session, baselines))
    trials: Sequence[Trial] = ()
    costs, certificate = None, None
    info: Mapping[str, float] = {}
    measurer.enter(Phase.PROFILE)
    if session.problem.is_divisible and measurer.deadline.left_s > 0:
        costs = _costs(measurer, baselines, listener)
        measurer.enter(Phase.SEARCH)
        with measurer.seconds.searching():
            loop = make_loop(measurer, baselines[0], listener, costs.table if costs else None)
            trials = loop.run()
        certificate, info = loop.placer.certificate, loop.placer.info
    about, cut = costs.about if costs else None, measurer.deadline.left_s <= 0
    with measurer.seconds.counting("comparison"):
        comparison = decide(measurer, baselines, trials, listener, costs.table if costs else None)
    comparison = _with_notes(comparison, notes(measurer, trials, about, cut=cut))
    return Findings(
        session,
        baselines,
        trials,
        comparison,
        measurer.seconds,
        costs=about,
        certificate=certificate,
        info=info,
        stages_over_hetero=stages_over_hetero(measurer.store),
    )


def _with_notes(comparison: FinalComparison, found: Sequence[str]) -> FinalComparison:
    verdict = comparison.verdict
    return replace(comparison, verdict=replace(verdict, notes=(*verdict.notes, *found)))


def _write_answer(session: Session, result: RunResult, placement: Placement) -> None:
    """Write the placed model with the run's provenance, the placement, and last the result."""
    from ovplace.ir.placed_model import write_placed

    provenance = {key: value for key, value in result.to_json().items() if key in _PROVENANCE}
    table = placement.to_names(session.graph)
    write_placed(session.folder.prepared_model, session.folder.path, table, session.devices, provenance)
    session.folder.write_result(result)


def _costs(measurer: Measurer, baselines: Sequence[Baseline], listener: Listener) -> Costs | None:
    """Return the costs of groups and cuts; None where the placer needs none."""
    placer = measurer.session.config.plugins.placer
    if not placer.factory.needs_costs(placer.settings):
        return None
    start = time.monotonic()
    costs = obtain_costs(measurer, baselines, listener)
    measurer.seconds.profiling = time.monotonic() - start
    return costs


def _asked_limit(session: Session) -> float:
    """Return the error limit for the baselines: the user's, or that of f32 where all devices compute in f32."""
    if session.config.search.max_error is not None:
        return session.config.search.max_error
    return F32_LIMIT if all(device.precision == "f32" for device in session.devices) else float("inf")


def error_limit(session: Session, baselines: Sequence[Baseline]) -> float:
    """Return the largest relative output error that a placement may have.

    Args:
        session: the run.
        baselines: measured, single devices first.

    Where a device computes in a lower precision and the user set no limit, a placement may be twice as far off as the
    worst working device alone: mixing devices of one run must not lose more than using one of them.
    """
    asked = _asked_limit(session)
    if np.isfinite(asked):
        return asked
    alone = [b.measurement.max_error for b in baselines[: len(session.devices)] if b.measurement.ok]
    return max(F32_LIMIT, 2 * max(alone))


def make_loop(measurer: Measurer, reference: Baseline, listener: Listener, costs: CostTable | None = None) -> Loop:
    """Return the search loop of a run.

    Args:
        measurer: of the run.
        reference: the baseline that placements are measured in turns with.
        listener: is called with each step.
        costs: cost table for placers that work with one.
    """
    search, problem = measurer.session.config.search, measurer.session.problem
    placer, backend = measurer.session.config.plugins.placer, measurer.session.config.plugins.backend
    return Loop(
        placer=placer.build(replace(problem, costs=costs) if costs else problem),
        measurer=measurer,
        reference=reference.candidate,
        spec=measurer.session.config.measure,
        budget=Budget(search.budget, search.batch),
        origin=search.placer,
        listener=listener,
        staging=Staging(measurer, measurer.session.config.measure, search.stages and backend.factory.runs_stages),
    )
