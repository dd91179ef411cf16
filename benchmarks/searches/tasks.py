"""The tasks of a suite's cells, each called in a process of its own: `task(config, folder, options)`.

The folder of a cell is `variant/model/machine/seed` in that of the suite, where `prepared/` has the models.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.searches.failing import FailingBackend, drawn_failures
from benchmarks.searches.place import Place
from benchmarks.searches.simulated import Simulated, TimedPlacer, simulated
from benchmarks.searches.wrong_costs import wrong_costs
from ovplace.atomic import atomic_write, write_json
from ovplace.config import toml
from ovplace.config.schema import RunConfig
from ovplace.core.cost_table import CostTable
from ovplace.core.measurement import Trial
from ovplace.cost.solvers.portfolio import best_certified
from ovplace.graphs.op_graph import FloatArray
from ovplace.search.comparison.final_comparison import decide
from ovplace.session.events import silent
from ovplace.store.run_db import RunStore
from ovplace.store.run_folder import RunFolder

OUTCOME = "outcome.json"
PREPARED = "prepared"
EPISODE = 20
"""Placements in an episode of HSDAG."""

OPTIMUM = "optimum"
"""Name of the variant whose cells have the optima; they do not depend on the seed, which is 0."""

Data = dict[str, Any]
Options = Mapping[str, Any]


def optimum(config: RunConfig, folder: Path, options: Options) -> None:
    """Leave the best placement's latency that the solvers find, its proven bound, and those of single devices."""
    place = _place(config, folder)
    best = best_certified(place.table, float(options["time_limit_s"]))
    found = {
        "legal_groups": place.table.n_groups,
        "optimum_ms": best.value_ms,
        "bound_ms": best.lower_bound_ms,
        "alone_ms": place.alone_ms(),
    }
    _leave(config, folder, options, found)


def search(config: RunConfig, folder: Path, options: Options) -> None:
    """Search once, and leave how the best placement became better."""
    with simulated(_place(config, folder), config) as run:
        found = _found(run, *run.search(), options)
    _leave(config, folder, options, found)


def search_with_wrong_costs(config: RunConfig, folder: Path, options: Options) -> None:
    """Search once with costs that are wrong by a log-normal factor, and leave how the best placement became better."""
    believed = wrong_costs(float(options["spread"]), config.search.seed)
    with simulated(_place(config, folder), config) as run:
        found = _found(run, *run.search(believed), options)
    _leave(config, folder, options, found)


def search_with_failing_choices(config: RunConfig, folder: Path, options: Options) -> None:
    """Search once where some groups fail on the device that is best for them; leave how the best became better."""
    place = _place(config, folder)
    fails = drawn_failures(place, config, int(options["failing"]))
    with simulated(place, config, lambda job: FailingBackend(job, fails)) as run:
        found = _found(run, *run.search(), options)
    found["optimum_ms"] = fails.optimum_ms(place)
    _leave(config, folder, options, found)


TASKS: dict[str, Callable[[RunConfig, Path, Options], None]] = {
    "search": search,
    "wrong_costs": search_with_wrong_costs,
    "failing_choices": search_with_failing_choices,
}
"""By the name that a suite gives as `task`."""


def read_outcome(folder: Path) -> Data:
    """Return the outcome that a cell's folder holds.

    Raises:
        OSError: there is none.
        ValueError: the file is damaged.
    """
    found: Data = json.loads((folder / OUTCOME).read_text(encoding="utf-8"))
    return found


def prepared(out: Path, model: Path) -> Path:
    """Return the file of a prepared model.

    Args:
        out: folder of the suite.
        model: the model's own file.
    """
    return out / PREPARED / model.name


def optimum_folder(folder: Path) -> Path:
    """Return the folder of the optimum of the model and machine of a cell, given the cell's folder."""
    _, model, machine, _ = folder.parts[-4:]
    return folder.parents[3] / OPTIMUM / model / machine / "0"


def _place(config: RunConfig, folder: Path) -> Place:
    machine = config.plugins.backend.settings.machine
    return Place(prepared(folder.parents[3], Path(config.search.model)), machine)


def _leave(config: RunConfig, folder: Path, options: Options, found: Data) -> None:
    """Write the configuration and, last, the outcome."""
    folder.mkdir(parents=True, exist_ok=True)
    atomic_write(RunFolder(folder).config, toml.dumps(config))
    write_json(folder / OUTCOME, {"options": dict(options), **found})


def _found(run: Simulated, trials: Sequence[Trial], placer: TimedPlacer, options: Options) -> Data:
    """Return what is compared of a search.

    `asked` tells how its best placement became better: pairs of placements measured and latency without noise.
    """
    new = [trial for trial in trials if not trial.cached]
    ran = np.isfinite([trial.ratio for trial in new])
    latencies = np.where(ran, run.place.true_ms([trial.placement for trial in new]), np.inf)
    budgets = [budget for budget in options["budgets"] if budget <= len(new)]
    at = {str(budget): placer.asked_at_s[int(np.searchsorted(placer.counts, budget))] for budget in budgets}
    reference = run.baselines[0].placement
    assert reference is not None
    return {
        "measured": len(new),
        "own_s": {name: round(value, 3) for name, value in at.items()} | {"all": round(placer.seconds, 3)},
        "baseline_ms": min(run.place.automatic_ms(b.placement) for b in run.baselines if b.competes and b.placement),
        "answers": _answers(run, trials, placer, options),
        "reference_ms": float(run.place.true_ms([reference])[0]),
        "asked": _steps(np.minimum.accumulate(latencies)),
        "last_ms": _last_ms(run, trials),
        "failed": float(1 - ran.mean()),
    }


def _last_ms(run: Simulated, trials: Sequence[Trial]) -> float:
    """Return the median latency, without noise, of the last `EPISODE` placements asked for, known ones included."""
    last = trials[-EPISODE:]
    latencies = np.where([np.isfinite(t.ratio) for t in last], run.place.true_ms([t.placement for t in last]), np.inf)
    return float(np.median(latencies))


def _answers(run: Simulated, trials: Sequence[Trial], placer: TimedPlacer, options: Options) -> list[Data]:
    """Return what each final comparison comes to, latencies without noise."""
    return [_answer(run, trials, placer.costs) for _ in range(options["comparisons"])]


def _answer(run: Simulated, trials: Sequence[Trial], costs: CostTable | None) -> Data:
    """Return the answer, and the placement that was compared, of a final comparison that nothing is stored of yet."""
    before = run.measured
    with closing(RunStore(Path(":memory:"))) as store:
        compared = decide(replace(run.measurer, store=store), run.baselines, trials, silent, costs)
    found = compared.found.placement if compared.found else None
    return {
        "status": compared.verdict.status.value,
        "answer_ms": run.place.automatic_ms(compared.placement),
        "found_ms": run.place.automatic_ms(found or compared.placement),
        "measured": run.measured - before,
    }


def _steps(curve: FloatArray) -> list[tuple[int, float]]:
    """Return (number, value) where a curve changes, numbers from 1 on."""
    changed = np.flatnonzero(np.diff(curve, prepend=np.nan) != 0)
    return [(int(i) + 1, float(curve[i])) for i in changed if np.isfinite(curve[i])]
