"""Whether the answer of a finished run still holds: it compiles, computes the same numbers and wins again."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from math import inf
from pathlib import Path
from typing import Any

from ovplace.commands.checking.baseline_answer import BaselineAnswer
from ovplace.commands.checking.check_report import Change, CheckReport
from ovplace.commands.own_devices import with_own_devices
from ovplace.commands.run_inputs import with_inputs
from ovplace.config.schema import RunConfig
from ovplace.core.measurement import Candidate, Measurement, Trial
from ovplace.core.placement import Placement
from ovplace.core.result.labels import ratio_text
from ovplace.core.result.parts import Environment
from ovplace.core.result.run_result import RunResult
from ovplace.core.verdict import Status
from ovplace.errors import BackendError, DeviceError, UsageError
from ovplace.ir.placed_model import check_placed
from ovplace.search.comparison.final_comparison import FinalComparison, decide
from ovplace.search.explore import limiting_baselines
from ovplace.search.result import environment_of
from ovplace.search.time_limit import with_labels, with_time_left
from ovplace.session.baselines import Baseline
from ovplace.session.deadline import Phase, TimeBudget, TimeIsUpError
from ovplace.session.events import Listener
from ovplace.session.measurer import ATTEMPTS, Measurer
from ovplace.session.outputs import not_finite_notes
from ovplace.session.run_files import fingerprints_beside_model
from ovplace.session.session import open_session
from ovplace.store.run_db import RunStore
from ovplace.store.run_folder import RunFolder


def check(folder: Path, listener: Listener, time_s: float = 0.0, rounds: int = 0, input_path: str = "") -> CheckReport:
    """Compile and run the answer of a run here, check its outputs, and repeat the final comparison.

    The folder stays as it is, but for the requests that a simulated machine counts beside the model.

    Args:
        folder: a finished run.
        listener: is called with each step.
        time_s: seconds of the call, at most; 0 for no limit.
        rounds: fresh processes of the final comparison; 0 for as many as in the run.
        input_path: `.npz` file with one array for each input; empty for the inputs of the run.

    Raises:
        OvplaceError: there is no finished run, or its files are damaged.
        UsageError: the time does not suffice to measure the answer once.
    """
    start, files = time.monotonic(), RunFolder(folder)
    files.check_finished()
    result, table = files.read_answer()
    config = with_inputs(_to_compare(with_own_devices(files.read_config(), result), rounds), input_path)
    try:
        session = open_session(config, files, listener)
    except DeviceError as error:
        return CheckReport(result, str(error))
    with closing(session), closing(RunStore(Path(":memory:"))) as store:
        environment = environment_of(session)
        changes = (*_changes(result.environment, environment), *_of_files(files, config))
        report = CheckReport(result, "", changes, notes=not_finite_notes(session.facts))
        if session.graph.content_hash != result.model.hash:
            return replace(report, problem="placed.xml is not the model that was placed")
        check_placed(folder)
        measurer = Measurer(session, store, time=TimeBudget(start, time_s or inf))
        listener = with_labels(with_time_left(listener, measurer), session)
        try:
            baselines = limiting_baselines(measurer, listener)
            measurer.enter(Phase.SEARCH)
            compared = _compared(measurer, files, result, Placement.from_names(session.graph, table), baselines)
            return _with_answer(report, compared, measurer, listener)
        except BackendError as error:
            return replace(report, problem=str(error))
        except TimeIsUpError:
            text = f"{time_s:g} s are not enough to measure the answer of '{folder}'; give more with --time"
            raise UsageError(text) from None


def _to_compare(config: RunConfig, rounds: int) -> RunConfig:
    """Return the configuration without a time limit of its own, with other rounds where they are given."""
    comparison = replace(config.comparison, rounds=rounds or config.comparison.rounds)
    return replace(config, search=replace(config.search, time_s=0.0), comparison=comparison)


def _changes(then: Environment, now: Environment) -> list[Change]:
    before, here = _parts(then), _parts(now)
    names = [name for name in {**before, **here} if before.get(name) != here.get(name)]
    return [Change(name, before.get(name, ""), here.get(name, "")) for name in names]


def _of_files(files: RunFolder, config: RunConfig) -> list[Change]:
    """Return whether the inputs and the file of the simulated machine were changed."""
    if not files.database.exists():
        return []
    names, found = {"input": "inputs", "machine": "simulated machine"}, []
    with closing(files.open_store()) as store:
        for key, now in fingerprints_beside_model(config).items():
            if (then := store.get(key)) not in (None, now):
                found.append(Change(names[key], str(then)[:8], now[:8]))
    return found


def _parts(environment: Environment) -> dict[str, str]:
    drivers = {f"driver of {name}": driver for name, driver in environment.drivers.items()}
    machine: dict[str, Any] = {k: v for k, v in asdict(environment).items() if k in ("simulated", "cpu", "platform")}
    return {**environment.versions, **machine, **drivers}


@dataclass(frozen=True)
class _Compared:
    """What is compared.

    Attributes:
        measurement: of the answer.
        baselines: measured.
        answer: the baseline that the answer is; None where it is a placement of its own.
        trials: the placement to be compared with the baselines: the answer, or what lost to it; empty for none.
    """

    measurement: Measurement
    baselines: Sequence[Baseline]
    answer: Baseline | None
    trials: Sequence[Trial]


def _compared(
    measurer: Measurer, files: RunFolder, result: RunResult, answer: Placement, baselines: Sequence[Baseline]
) -> _Compared:
    same = next((b for b in baselines if b.competes and b.placement and b.placement.hash == answer.hash), None)
    if same is None:
        before = _trial_of(files, answer.hash)
        trial = _measured_again(measurer, answer, baselines[0], result, before.number if before else 0)
        return _Compared(trial.measurement, baselines, None, [trial])
    lost = None if result.found is None or result.found.hash == answer.hash else _trial_of(files, result.found.hash)
    trials = [_measured_again(measurer, lost.placement, baselines[0], result, lost.number)] if lost else []
    return _Compared(same.measurement, baselines, same, trials)


def _measured_again(
    measurer: Measurer, placement: Placement, reference: Baseline, result: RunResult, number: int
) -> Trial:
    spec, candidate = measurer.session.config.measure, Candidate("the placement", placement)
    stored = measurer.stored_pair(candidate, reference.candidate, spec, ATTEMPTS)
    return Trial(number, placement, stored.measurement, stored.ratio, result.search.placer)


def _trial_of(files: RunFolder, placement_hash: str) -> Trial | None:
    """Return the trial of the run that measured a placement; None where none did."""
    if not files.database.exists():
        return None
    with closing(files.open_store()) as store:
        return next((trial for trial in store.trials() if trial.placement.hash == placement_hash), None)


def _with_answer(report: CheckReport, compared: _Compared, measurer: Measurer, listener: Listener) -> CheckReport:
    m = compared.measurement
    report = replace(report, limit=measurer.error_limit, max_rel_error=m.max_error if m.outputs else None)
    if not m.ok:
        return replace(report, problem=f"{m.error}: {m.error_text}")
    comparison = decide(measurer, compared.baselines, compared.trials, listener)
    report = replace(report, runs=True, verdict=comparison.verdict)
    if compared.answer:
        baseline = BaselineAnswer(compared.answer, compared.baselines, comparison)
        rounds = baseline.rounds(measurer, listener)
        return replace(report, problem=baseline.problem(rounds), latency_ms=rounds.latency(compared.answer.name))
    latency_ms = comparison.rounds.latency(comparison.found.name) if comparison.found else None
    return replace(report, problem=_as_placement(comparison, report.result.is_faster), latency_ms=latency_ms)


def _as_placement(comparison: FinalComparison, was_faster: bool) -> str:
    """Return why the answer, a placement of its own, does not hold; empty where it does."""
    verdict = comparison.verdict
    if verdict.ratio is None:
        return f"it cannot be compared: {'; '.join(verdict.notes)}"
    if verdict.status == Status.BASELINE:
        return f"it is slower than {verdict.against}: {ratio_text(verdict.ratio)}"
    if verdict.status == Status.SAME and was_faster:
        return f"it is not shown to be faster than {verdict.against}: {ratio_text(verdict.ratio)}"
    return ""
