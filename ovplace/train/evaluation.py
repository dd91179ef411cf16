"""Evaluation of a policy: its zero-shot latency relative to the best known, and that of the best single device."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ovplace.graphs.op_graph import FloatArray
from ovplace.plugins.protocols import Trainer
from ovplace.session.events import Listener, Progress
from ovplace.train.training_config import TrainConfig
from ovplace.train.training_problems import TrainingProblem


@dataclass(frozen=True)
class PolicyScore:
    """Latencies of a policy on one problem, divided by the best known.

    Attributes:
        problem: the problem.
        zero_shot: zero-shot placement of the policy.
        per_graph: zero-shot placement after updates on this problem alone, by its latencies and without the solvers'
            placement; equal to `zero_shot` without updates.
    """

    problem: TrainingProblem
    zero_shot: float
    per_graph: float

    @property
    def single(self) -> float:
        """Latency of the best single device divided by the best known; infinite if none runs the whole model."""
        return self.problem.single_ms / self.problem.best_ms


def evaluate(
    trainer: Trainer, sets: dict[str, list[TrainingProblem]], config: TrainConfig, listener: Listener
) -> dict[str, list[PolicyScore]]:
    """Score zero-shot placements of all problems, and of held-out ones again after updates on each alone.

    Args:
        trainer: the trained policy.
        sets: problems by the name of their set.
        config: number of updates made, and of those on each held-out problem.
        listener: receives the progress by set.

    Returns:
        Scores by the name of the set.
    """
    found = {}
    for number, (name, problems) in enumerate(sets.items(), start=1):
        more = range(config.updates, config.updates + config.per_graph * name.startswith("held-out"))
        found[name] = [_score(trainer, problem, more) for problem in problems]
        listener(Progress("evaluate", number, len(sets), name))
    return found


def _score(trainer: Trainer, problem: TrainingProblem, updates: range) -> PolicyScore:
    zero_shot = problem.over_best(trainer.place(problem.problem))
    if not updates:
        return PolicyScore(problem, zero_shot, zero_shot)
    trained = trainer.dump()
    for number in updates:
        trainer.reinforce([problem.problem], number)
    score = PolicyScore(problem, zero_shot, problem.over_best(trainer.place(problem.problem)))
    trainer.restore(trained)
    return score


def summary_rows(scores: dict[str, list[PolicyScore]]) -> list[dict[str, Any]]:
    """Return one row per set, and one for its mixed problems."""
    rows = []
    for name, of in scores.items():
        rows.append(_row(name, of))
        if mixed := [score for score in of if score.problem.mixed]:
            rows.append(_row(f"{name}, mixed", mixed))
    return rows


def _row(name: str, of: Sequence[PolicyScore]) -> dict[str, Any]:
    columns = {
        "zero_shot": np.array([score.zero_shot for score in of]),
        "per_graph": np.array([score.per_graph for score in of]),
        "single": np.array([score.single for score in of]),
    }
    return {"set": name, "cases": len(of), **{key: _spread(values) for key, values in columns.items()}}


def _spread(values: FloatArray) -> dict[str, float | None]:
    """Return median, 90th percentile and maximum; None for infinite values and for an empty set."""
    if not len(values):
        return dict.fromkeys(("median", "p90", "worst"))
    of = {"median": np.median(values), "p90": np.quantile(values, 0.9, method="higher"), "worst": values.max()}
    return {key: round(float(value), 4) if np.isfinite(value) else None for key, value in of.items()}
