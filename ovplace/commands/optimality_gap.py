"""How far the best placement of a finished run is from the optimum of the cost model."""

from __future__ import annotations

from dataclasses import asdict
from math import isfinite
from pathlib import Path

from ovplace.core.certificate import Certificate
from ovplace.core.cost_table import CostTable
from ovplace.cost.calibration.fit import Agreement, fit
from ovplace.cost.evaluate.latency import latency_ms
from ovplace.cost.solvers.portfolio import CertifiedBest, best_certified
from ovplace.errors import DeviceError
from ovplace.graphs.op_graph import IntArray
from ovplace.profiling.obtain import costs_of_run, stored_costs
from ovplace.search.completed_run import Finished, observed, open_finished
from ovplace.search.result import Data
from ovplace.session.events import Listener, Progress
from ovplace.session.measurer import Measurer
from ovplace.session.session import open_session
from ovplace.store.run_db import RunStore

SCHEMA = 1


def bound(folder: Path, time_limit_s: float, listener: Listener) -> Data:
    """Return how far a run's answer is from the optimum of the cost model, as plain data for JSON.

    Args:
        folder: a finished run.
        time_limit_s: of the solver of the full model.
        listener: is told each step.

    Raises:
        OvplaceError: there is no finished run, its groups cannot be measured on this machine, or nothing fits into its
            memory.
    """
    return bound_of(open_finished(folder), time_limit_s, listener)


def bound_of(run: Finished, time_limit_s: float, listener: Listener) -> Data:
    """Return the same for a run that is read already."""
    store = run.open_store()
    try:
        listener(Progress("bound", 0, 3, "costs of the groups"))
        profiled, measured_now = _costs(run, store, listener)
        choices, latencies = observed(run, store)
    finally:
        store.close()
    listener(Progress("bound", 1, 3, f"fitting the model to {len(choices)} placements"))
    fitted = fit(profiled, choices, latencies)
    # The costs of a simulated machine are exact; fitting would only add its noise.
    table = profiled if run.simulated else fitted.table
    listener(Progress("bound", 2, 3, f"solving, for at most {time_limit_s:.0f} s"))
    answer = run.device_of_groups(run.answer)
    optimum = best_certified(table, time_limit_s, [*([] if answer is None else [answer]), *choices])
    listener(Progress("bound", 3, 3, "done"))
    return {
        "schema": SCHEMA,
        "run": str(run.folder),
        "model": run.result["model"],
        "devices": run.result["devices"],
        "environment": run.result["environment"],
        "best": _best(run, table, answer, optimum),
        "optimum": _optimum(run, optimum),
        "certificates": [_certificate(solution.certificate) for solution in optimum.solutions],
        "costs": {"source": profiled.source, "measured_now": measured_now},
        "fit": {
            "placements": fitted.n_trials,
            "profiled": _plain(fitted.before),
            "held_back": _plain(fitted.held_back),
        },
    }


def _costs(run: Finished, store: RunStore, listener: Listener) -> tuple[CostTable, bool]:
    """Return the costs of a run's groups, and whether they had to be found out now; then they are kept for later."""
    stored = stored_costs(store)
    if stored is not None:
        return stored, False
    session = open_session(run.config, run.folder, listener)
    try:
        if session.problem.device_names != run.devices:
            raise DeviceError(
                f"the run in '{run.folder}' was made on {', '.join(run.devices)}, here are "
                f"{', '.join(session.problem.device_names)}; its groups can only be measured where it was made"
            )
        return costs_of_run(Measurer(session, store), listener), True
    finally:
        session.pool.close()


def _best(run: Finished, table: CostTable, answer: IntArray | None, optimum: CertifiedBest) -> Data:
    best = run.result["best"]
    value = None if answer is None else float(latency_ms(table, answer[None])[0])
    return {
        "origin": best["origin"],
        "ops_per_device": best["ops_per_device"],
        "latency_ms": best["latency_ms"],
        "model_ms": value,
        "above_optimum": None if value is None else value / optimum.value_ms - 1,
        "above_bound": None if value is None else _finite(optimum.gap_of(value)),
    }


def _optimum(run: Finished, optimum: CertifiedBest) -> Data:
    placement = run.partition.lift(optimum.device_of, run.devices)
    return {
        "model_ms": optimum.value_ms,
        "lower_bound_ms": _finite(optimum.lower_bound_ms),
        "gap": _finite(optimum.gap_of(optimum.value_ms)),
        "found_by": optimum.found_by or "the run",
        "ops_per_device": placement.ops_per_device(),
        "submodels": placement.submodels(run.graph),
        "placement": placement.to_names(run.graph),
    }


def _certificate(of: Certificate) -> Data:
    return asdict(of) | {"lower_bound_ms": _finite(of.lower_bound_ms), "gap": _finite(of.gap)}


def _finite(value: float) -> float | None:
    return value if isfinite(value) else None


def _plain(found: Agreement | None) -> Data | None:
    return None if found is None else {"spearman": found.spearman, "mape": found.mape, "placements": found.n}
