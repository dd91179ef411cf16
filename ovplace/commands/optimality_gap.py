"""The gap between the answer of a finished run and the optimum of the cost model."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from ovplace.commands.run_inputs import with_inputs
from ovplace.core.certificate import Certificate, finite
from ovplace.core.cost_table import CostTable
from ovplace.core.result.run_result import RunResult, latency_to_json
from ovplace.core.statistics import Interval
from ovplace.cost.calibration.agreement import Agreement
from ovplace.cost.calibration.fit import fit
from ovplace.cost.evaluate.latency import latency_ms
from ovplace.cost.solvers.portfolio import CertifiedBest, best_certified
from ovplace.errors import DeviceError
from ovplace.graphs.op_graph import IntArray
from ovplace.profiling.obtain import obtain_costs, stored_costs
from ovplace.search.completed_run import CompletedRun, failed_placements, measured_placements, open_completed_run
from ovplace.search.explore import limiting_baselines
from ovplace.search.time_limit import with_labels
from ovplace.session.events import Listener, Progress
from ovplace.session.measurer import Measurer
from ovplace.session.session import Begun, check_settings, open_session
from ovplace.store.run_db import RunStore

SCHEMA = 1


@dataclass(frozen=True)
class AnswerGap:
    """The answer of a run under the cost model.

    Attributes:
        origin: the placer that found it, or the name of the baseline that it is.
        ops_per_device: number of operations on each device.
        latency_ms: measured latency in ms with its interval, as in the result.
        model_ms: its latency under the cost model; None where it divides groups that the model has only whole, or where
            one of its groups failed as it was profiled alone.
        above_optimum: how far that is above the best placement known to the solvers, as a fraction.
        above_bound: how far it may be above the optimum, as a fraction; None where nothing is proven.
    """

    origin: str
    ops_per_device: Mapping[str, int]
    latency_ms: Interval | None
    model_ms: float | None
    above_optimum: float | None
    above_bound: float | None


@dataclass(frozen=True)
class ModelOptimum:
    """The best placement under the cost model.

    Attributes:
        model_ms: its latency under the cost model.
        lower_bound_ms: no placement's latency is lower under the model; None where nothing is proven.
        gap: how far `model_ms` may be above the optimum, as a fraction; None where nothing is proven.
        found_by: the solver, or `the run`.
        ops_per_device: number of operations on each device.
        submodels: device of each submodel, in running order.
        placement: device name of each operation, by the operation's name.
        failed: kind and text of its failure in the run, which the cost model does not know; empty where it did not
            fail, or was not run.
    """

    model_ms: float
    lower_bound_ms: float | None
    gap: float | None
    found_by: str
    ops_per_device: Mapping[str, int]
    submodels: tuple[str, ...]
    placement: Mapping[str, str]
    failed: str = ""


@dataclass(frozen=True)
class ModelFit:
    """Agreement of the cost model with the run's measurements.

    Attributes:
        placements: number of placements it was fitted to.
        profiled: agreement before fitting; None where too little was measured.
        held_back: agreement on placements that it was not fitted to; None where too little was measured.
    """

    placements: int
    profiled: Agreement | None
    held_back: Agreement | None


@dataclass(frozen=True)
class OptimalityGap:
    """The gap between the answer of a run and the optimum of the cost model.

    Attributes:
        run: the run folder.
        result: the run's result.
        best: the run's answer under the cost model.
        optimum: the best placement under the cost model.
        certificates: the certificate of each solver.
        costs_source: where the costs come from.
        costs_measured_now: whether the costs had to be measured for this call.
        fit: how well the cost model agrees with the measurements.
    """

    run: str
    result: RunResult
    best: AnswerGap
    optimum: ModelOptimum
    certificates: tuple[Certificate, ...]
    costs_source: str
    costs_measured_now: bool
    fit: ModelFit

    def to_json(self) -> dict[str, Any]:
        """Return what `ovplace bound --json` prints."""
        run, latency = self.result.to_json(), self.best.latency_ms
        return {
            "schema": SCHEMA,
            "run": self.run,
            **{key: value for key, value in run.items() if key in ("model", "devices", "environment")},
            "best": asdict(self.best) | {"latency_ms": latency and latency_to_json(latency)},
            "optimum": asdict(self.optimum) | {"submodels": list(self.optimum.submodels)},
            "certificates": [certificate.to_json() for certificate in self.certificates],
            "costs": {"source": self.costs_source, "measured_now": self.costs_measured_now},
            "fit": {
                "placements": self.fit.placements,
                "profiled": _agreement_to_json(self.fit.profiled),
                "held_back": _agreement_to_json(self.fit.held_back),
            },
        }


def optimality_gap(folder: Path, time_limit_s: float, listener: Listener, input_path: str = "") -> OptimalityGap:
    """Return how far a run's answer is from the optimum of the cost model.

    Args:
        folder: a finished run.
        time_limit_s: time limit in seconds of the solver of the full model.
        listener: is called with each step.
        input_path: `.npz` file with one array for each input, on which groups are measured if the run has no costs;
            empty for the inputs of the run.

    Raises:
        OvplaceError: there is no finished run, its groups cannot be measured on this machine, the inputs are not there,
            or nothing fits into its memory.
    """
    run = open_completed_run(folder)
    if input_path:
        run = replace(run, config=with_inputs(run.config, input_path))
    return bound_of(run, time_limit_s, listener)


def bound_of(run: CompletedRun, time_limit_s: float, listener: Listener) -> OptimalityGap:
    """Return the same for a run that has been read.

    Args:
        run: a finished run.
        time_limit_s: time limit in seconds of the solver of the full model.
        listener: is called with each step.

    Raises:
        OvplaceError: its groups cannot be measured on this machine, or nothing fits into its memory.
    """
    with closing(run.folder.open_store()) as store:
        listener(Progress("bound", 0, 3, "costs of the groups"))
        profiled, measured_now = _costs(run, store, listener)
        choices, latencies = measured_placements(run, store)
        failures = failed_placements(store)
    listener(Progress("bound", 1, 3, f"fitting the model to {len(choices)} placements"))
    fitted = fit(profiled, choices, latencies)
    # The costs of a simulated machine are exact; fitting would only add its noise.
    table = profiled if run.simulated else fitted.table
    listener(Progress("bound", 2, 3, f"solving, for at most {time_limit_s:.0f} s"))
    answer = run.device_of_groups(run.answer)
    optimum = best_certified(table, time_limit_s, [*([] if answer is None else [answer]), *choices])
    listener(Progress("bound", 3, 3, "done"))
    return OptimalityGap(
        run=str(run.folder),
        result=run.result,
        best=_best(run, table, answer, optimum),
        optimum=_optimum(run, optimum, failures),
        certificates=tuple(solution.certificate for solution in optimum.solutions),
        costs_source=profiled.source,
        costs_measured_now=measured_now,
        fit=ModelFit(fitted.n_trials, fitted.before, fitted.held_back),
    )


def _costs(run: CompletedRun, store: RunStore, listener: Listener) -> tuple[CostTable, bool]:
    """Return the costs of a run's groups, and whether they had to be found out now; then they are kept for later."""
    stored = stored_costs(store)
    if stored is not None:
        return stored, False
    check_settings(run.config)
    with closing(open_session(run.config, run.folder, listener, Begun(groups=run.partition))) as session:
        if session.problem.device_names != run.devices:
            raise DeviceError(
                f"the run in '{run.folder}' was made on {', '.join(run.devices)}, here are "
                f"{', '.join(session.problem.device_names)}; its groups can only be measured where it was made"
            )
        measurer, listener = Measurer(session, store), with_labels(listener, session)
        return obtain_costs(measurer, limiting_baselines(measurer, listener), listener).table, True


def _best(run: CompletedRun, table: CostTable, answer: IntArray | None, optimum: CertifiedBest) -> AnswerGap:
    best = run.result.best
    value = None if answer is None or not table.runs(answer) else float(latency_ms(table, answer[None])[0])
    return AnswerGap(
        origin=best.origin,
        ops_per_device=best.ops_per_device,
        latency_ms=best.latency_ms,
        model_ms=value,
        above_optimum=None if value is None else value / optimum.value_ms - 1,
        above_bound=None if value is None else finite(optimum.gap_of(value)),
    )


def _optimum(run: CompletedRun, optimum: CertifiedBest, failures: Mapping[str, str]) -> ModelOptimum:
    placement = run.partition.lift(optimum.device_of, run.devices)
    return ModelOptimum(
        model_ms=optimum.value_ms,
        lower_bound_ms=finite(optimum.lower_bound_ms),
        gap=finite(optimum.gap_of(optimum.value_ms)),
        found_by=optimum.found_by or "the run",
        ops_per_device=placement.ops_per_device(),
        submodels=tuple(placement.submodels(run.graph)),
        placement=placement.to_names(run.graph),
        failed=failures.get(placement.hash, ""),
    )


def _agreement_to_json(found: Agreement | None) -> dict[str, Any] | None:
    return None if found is None else {"spearman": found.spearman, "mape": found.mape, "placements": found.n}
