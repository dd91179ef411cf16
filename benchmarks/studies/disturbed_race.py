"""The race where something else disturbs measurements now and then, by simulation.

Random cost tables of 24 groups on two devices; of 600 random placements the 60 fastest, each measured once in turns
with a reference, and a race of 24 with a poor profile, as in `race`. A part `disturbed` of the measurements of the
search and of the heats is disturbed: the reference takes 15 to 65 % longer, a placement beside it by a random part of
that or a little more; in a heat all take so much longer, and differ by a fifth of what they otherwise do. `noticed`:
the race knows what the reference took. `found`: within 1 % of the fastest; `excess`: mean and worst; `measured`: again,
on average.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from benchmarks.report import Row
from benchmarks.studies.race import PLACEMENTS, SIZE, fastest_drawn
from ovplace.cost.evaluate.latency import latency_ms
from ovplace.graphs.op_graph import FloatArray, IntArray
from ovplace.search.comparison.disturbance import error_of
from ovplace.search.comparison.race import Field, race
from ovplace.seeds import generator
from ovplace.testing.measurements import profiled, true_table

NOISE, BUDGET = 0.03, 24
SLOWER = (0.15, 0.5)
"""Logarithm of how much longer the reference takes in a disturbance, at least and at most."""

SHARED = (0.3, 1.2)
"""How much of that a placement does, in the search."""

SHRUNK = 0.2
"""Differences in a disturbed heat, as a part of the true ones: two heats of the demo model on a busy machine."""


@dataclass(frozen=True)
class Options:
    """Options.

    Attributes:
        disturbed: parts of the measurements that are disturbed; two rows for each.
        tables: random cost tables for each row.
    """

    disturbed: tuple[float, ...] = (0.0, 0.1, 0.3)
    tables: int = 100


SHORT = Options(disturbed=(0.3,), tables=2)


def rows(options: Options) -> Iterator[Row]:
    """Yield a row for each part, and for each way to take it."""
    for disturbed in options.disturbed:
        for noticed in (False, True):
            found = [_outcome(disturbed, seed, noticed=noticed) for seed in range(options.tables)]
            excess, spent = np.array(found).T
            yield {
                "disturbed": f"{disturbed:.0%}",
                "noticed": "yes" if noticed else "no",
                "found": f"{np.mean(excess <= 0.01):.0%}",
                "excess": f"{excess.mean():.2%} ({excess.max():.1%})",
                "measured": f"{spent.mean():.0f}",
            }


def _outcome(disturbed: float, seed: int, *, noticed: bool) -> tuple[float, int]:
    """Return the excess of the placement chosen over the fastest, and the number of measurements."""
    table = true_table(seed=seed)
    device_of = fastest_drawn(table, seed)
    true_ms, rng = latency_ms(table, device_of), generator(seed, "benchmark", "disturbed")
    slower = _slower(disturbed, PLACEMENTS, rng)
    reference = slower + rng.normal(0, NOISE, PLACEMENTS)
    beside = slower * rng.uniform(*SHARED, PLACEMENTS) + rng.normal(0, NOISE, PLACEMENTS)
    off = reference - np.median(reference)
    field = Field(
        ratios=true_ms * np.exp(beside - reference),
        costs=profiled(table, seed),
        device_of=device_of,
        seed=seed,
        disturbed=error_of(off) if noticed else None,
        usual_ms=1.0 if noticed else np.nan,
    )
    spent = 0

    def measure(which: IntArray, _: int) -> FloatArray:
        nonlocal spent
        spent += len(which)
        more, true = float(_slower(disturbed, 1, rng)[0]), np.log(true_ms[which])
        seen = true.mean() + SHRUNK * (true - true.mean()) + more if more else true
        return np.exp(seen + rng.normal(0, NOISE, len(which)))

    *_, end = race(field, measure, SIZE, BUDGET)
    return float(true_ms[end.order[0]] / true_ms.min() - 1), spent


def _slower(disturbed: float, count: int, rng: np.random.Generator) -> FloatArray:
    """Return the logarithms of how much longer the reference takes, `[count]`: 0 where nothing disturbs it."""
    return np.where(rng.random(count) < disturbed, rng.uniform(*SLOWER, count), 0.0)
