"""Time of a profile, and how far its predictions are off.

Predictions are of random placements, stretches of the group order; each is measured in turns with the fastest single
device, and compared as a ratio to it. The mean error is over those that ran.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.report import Row
from benchmarks.sessions import measured_session
from ovplace.core.cost_table import CostTable
from ovplace.core.measurement import Candidate
from ovplace.cost.evaluate.latency import latency_ms
from ovplace.graphs.op_graph import FloatArray
from ovplace.profiling.obtain import profile_costs
from ovplace.seeds import generator
from ovplace.session.baselines import Baseline
from ovplace.session.events import silent
from ovplace.session.measurer import Measurer


@dataclass(frozen=True)
class Options:
    """Options.

    Attributes:
        models: recipes.
        devices: name of the devices in `benchmarks.sessions`.
        budget_s: seconds of the profile.
        placements: whose prediction is compared.
    """

    models: tuple[str, ...] = ("inception-v3",)
    devices: str = "cpu+emulated-gpu"
    budget_s: float = 60.0
    placements: int = 10


SHORT = Options(models=("demo",), devices="cpu+cpu", budget_s=2.0, placements=1)


def rows(options: Options) -> Iterator[Row]:
    """Yield a row for each model."""
    for model in options.models:
        with measured_session(model, options.devices) as session:
            start = time.monotonic()
            found = profile_costs(session.measurer, session.baselines, silent, options.budget_s)
            seconds = time.monotonic() - start
            numbers = range(options.placements)
            ratios = np.array([_ratios(session.measurer, found.table, session.baselines, number) for number in numbers])
        yield {
            "model": model,
            "devices": options.devices,
            "seconds": seconds,
            "groups": found.table.n_groups,
            "parts measured": found.report.measured,
            "failed": found.report.failed,
            "estimated": found.report.estimated,
            "spread": found.report.spread,
            **errors(ratios),
        }


def errors(ratios: FloatArray) -> Row:
    """Return how many placements failed, and the mean error of the predictions of the others.

    Args:
        ratios: predicted and measured ratio of each placement, `[P, 2]`; a measured one is infinite where it failed.
    """
    predicted, measured = ratios[np.isfinite(ratios[:, 1])].T
    mean = float(np.mean(np.abs(predicted / measured - 1))) if len(measured) else ""
    return {"placements failed": len(ratios) - len(measured), "mean error": mean}


def _ratios(measurer: Measurer, table: CostTable, baselines: Sequence[Baseline], number: int) -> tuple[float, float]:
    """Return the predicted and the measured ratio of one random placement to the fastest single device."""
    problem = measurer.session.problem
    rng = generator(0, "profile", number)
    stretches = int(rng.integers(2, 10))
    where = rng.integers(len(problem.devices), size=stretches)
    choice = np.empty(problem.n_groups, dtype=np.int64)
    choice[problem.group_order] = where[np.arange(problem.n_groups) * stretches // problem.n_groups]
    reference = baselines[0].candidate
    assert reference.placement is not None
    alone = problem.uniform(problem.device_names.index(reference.placement.used[0]))
    predicted = latency_ms(table, np.stack([choice, alone]))
    stored = measurer.stored_pair(
        Candidate(f"placement {number}", problem.lift(choice)), reference, measurer.session.config.measure
    )
    return float(predicted[0] / predicted[1]), stored.ratio
