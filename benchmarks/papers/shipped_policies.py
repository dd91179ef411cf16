"""The policies that come with ovplace, on the models of their training and on unseen ones.

Latency over that of the best placement that the solvers find: median / 90th percentile / worst. *Zero-shot*: of
`hsdag`, one forward pass, or the best single device where that costs less under the cost model; of `placeto`, the best
placement of one greedy sweep that begins there. *Trained on it*: the same policy after updates on that problem alone,
which learn from latencies of its own placements under the cost model. *Mixed*: problems in which no single device is
within 1 % of the best placement.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from benchmarks.report import Row
from benchmarks.shipped import PLANS, shipped_plan, shipped_trainer
from ovplace.session.events import silent
from ovplace.train.evaluation import evaluate, summary_rows
from ovplace.train.run_training import TRAINED, held_out_problems
from ovplace.train.training_plan import TrainingPlan
from ovplace.train.training_problems import TrainingProblem, training_problems


@dataclass(frozen=True)
class Options:
    """Options.

    Attributes:
        placers: whose policies.
        models: of the training and of each held-out set, at most; 0 for all.
        updates: on each held-out problem.
    """

    placers: tuple[str, ...] = tuple(PLANS)
    models: int = 0
    updates: int = 20


SHORT = Options(placers=("hsdag",), models=1, updates=1)


def rows(options: Options) -> Iterator[Row]:
    """Yield a row for each policy and set of problems."""
    for placer in options.placers:
        plan = _shortened(shipped_plan(placer), options.models)
        problems = {TRAINED: _training(plan), **held_out_problems(plan, silent)}
        config = replace(plan.config, per_graph=options.updates)
        scores = evaluate(shipped_trainer(placer), problems, config, silent)
        for row in summary_rows(scores):
            yield {"policy": placer, "set": row["set"], "cases": row["cases"], **_latencies(row)}


def _shortened(plan: TrainingPlan, models: int) -> TrainingPlan:
    if not models:
        return plan
    held_out = {name: of[:models] for name, of in plan.held_out.items()}
    return replace(plan, models=plan.models[:models], held_out=held_out)


def _training(plan: TrainingPlan) -> list[TrainingProblem]:
    settings = plan.config.features, plan.config.seed, 0.0
    return [each for model in plan.models for each in training_problems(model, plan.machines, *settings)]


def _latencies(row: Mapping[str, Any]) -> dict[str, str]:
    columns = {"zero-shot": "zero_shot", "trained on it": "per_graph", "one device": "single"}
    found = {label: " / ".join(f"{of:.3f}" for of in row[key].values()) for label, key in columns.items()}
    return found if row["set"].startswith("held-out") else found | {"trained on it": "-"}
