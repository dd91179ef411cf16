"""What a policy is worth at first sight: its latency over the best one known, beside the best single device's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ovplace.graphs.op_graph import FloatArray
from ovplace.plugins.protocols import Trainer
from ovplace.session.events import Listener, Progress
from ovplace.train.cases import Case
from ovplace.train.plan import TrainConfig


@dataclass(frozen=True)
class Score:
    """One case judged, as latencies over the best one known.

    Attributes:
        case: what was placed.
        zero_shot: of what the policy says at once.
        per_graph: of the same after updates on this problem alone; the same as `zero_shot` without any.
    """

    case: Case
    zero_shot: float
    per_graph: float

    @property
    def single(self) -> float:
        """The best single device's; infinite where none runs all of the model."""
        return self.case.single_ms / self.case.best_ms


def judge(
    trainer: Trainer, sets: dict[str, list[Case]], config: TrainConfig, listener: Listener
) -> dict[str, list[Score]]:
    """Place every case at first sight, and held-out ones again after training on each alone.

    Args:
        trainer: has the policy.
        sets: cases by the name of their set.
        config: how long it was trained, and how long it is on each case alone.
        listener: is told each set.
    """
    found = {}
    for number, (name, cases) in enumerate(sets.items(), start=1):
        more = range(config.updates, config.updates + config.per_graph * name.startswith("held-out"))
        found[name] = [_score(trainer, case, more) for case in cases]
        listener(Progress("judge", number, len(sets), name))
    return found


def _score(trainer: Trainer, case: Case, updates: range) -> Score:
    at_once = case.over_best(trainer.place(case.problem))
    if not updates:
        return Score(case, at_once, at_once)
    trained = trainer.dump()
    for number in updates:
        trainer.update([case.problem], number)
    score = Score(case, at_once, case.over_best(trainer.place(case.problem)))
    trainer.restore(trained)
    return score


def summary(scores: dict[str, list[Score]]) -> list[dict[str, Any]]:
    """Return one row a set, and one for those of its cases on which no single device is the best."""
    rows = []
    for name, of in scores.items():
        rows.append(_row(name, of))
        if mixed := [score for score in of if score.case.mixed]:
            rows.append(_row(f"{name}, mixed", mixed))
    return rows


def _row(name: str, of: Sequence[Score]) -> dict[str, Any]:
    columns = {
        "zero_shot": np.array([score.zero_shot for score in of]),
        "per_graph": np.array([score.per_graph for score in of]),
        "single": np.array([score.single for score in of]),
    }
    return {"set": name, "cases": len(of), **{key: _spread(values) for key, values in columns.items()}}


def _spread(values: FloatArray) -> dict[str, float | None]:
    """Return median, 90th percentile and worst; None for infinite, and where there is nothing."""
    if not len(values):
        return dict.fromkeys(("median", "p90", "worst"))
    of = {"median": np.median(values), "p90": np.quantile(values, 0.9, method="higher"), "worst": values.max()}
    return {key: round(float(value), 4) if np.isfinite(value) else None for key, value in of.items()}
