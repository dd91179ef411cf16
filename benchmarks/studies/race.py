"""The race for the fastest of sixty placements, by simulation.

Random cost tables of 24 groups on two devices; of 600 random placements the 60 fastest, as a search asks for good ones,
each measured once in turns with a reference. `noise` is the standard deviation of the logarithm of a compilation's
latency. The costs that the race knows are the true ones, a poor profile of them (groups off by a factor of 1.6 and
log-normal 0.4, links by 3), or none. `found`: within 1 % of the fastest; `excess`: mean and worst; `measured`: again,
on average. *least of three* measures the three lowest ratios once more beside the reference and takes the least.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from benchmarks.report import Row
from benchmarks.searches.wrong_costs import KINDS
from ovplace.core.cost_table import CostTable
from ovplace.cost.evaluate.latency import latency_ms
from ovplace.graphs.op_graph import FloatArray, IntArray
from ovplace.search.comparison.race import Field, race
from ovplace.seeds import generator
from ovplace.testing.measurements import measured_ms, placements, profiled, true_table

PLACEMENTS, SIZE = 60, 3
COSTS = ("true", "poor", "none")


@dataclass(frozen=True)
class Options:
    """Options.

    Attributes:
        noises: standard deviations of the logarithm of a compilation's latency.
        budgets: placements measured in a race, at most.
        tables: random cost tables for each row.
        slower: factor on all latencies: a race should not depend on it.
    """

    noises: tuple[float, ...] = (0.02, 0.05)
    budgets: tuple[int, ...] = (0, 6, 12, 24, 48)
    tables: int = 40
    slower: float = 1.0


SHORT = Options(noises=(0.02,), budgets=(6,), tables=2)


def rows(options: Options) -> Iterator[Row]:
    """Yield a row for each noise and rule."""
    for noise in options.noises:
        yield {"noise": noise, "rule": "least of three", "costs": "", **_row(noise, "none", -1, options)}
        for costs in COSTS:
            for budget in options.budgets:
                rule = {"noise": noise, "rule": f"race of {budget}", "costs": costs}
                yield {**rule, **_row(noise, costs, budget, options)}


def _row(noise: float, costs: str, budget: int, options: Options) -> Row:
    found = np.array([_outcome(noise, costs, budget, seed, options.slower) for seed in range(options.tables)])
    excess, spent = found[:, 0], found[:, 1]
    return {
        "found": f"{np.mean(excess <= 0.01):.0%}",
        "excess": f"{excess.mean():.2%} ({excess.max():.1%})",
        "measured": f"{spent.mean():.0f}",
    }


def _outcome(noise: float, costs: str, budget: int, seed: int, slower: float) -> tuple[float, int]:
    """Return the excess of the placement chosen over the fastest, and the number of measurements; -1 for no race."""
    table = _slower(true_table(seed=seed), slower)
    device_of = fastest_drawn(table, seed)[generator(seed, "benchmark", "order").permutation(PLACEMENTS)]
    true_ms = latency_ms(table, device_of)
    ratios = measured_ms(table, device_of, np.sqrt(2) * noise, seed) / true_ms[0]
    rng = generator(seed, "benchmark", "race")
    if budget < 0:
        chosen, spent = _least_of_three(ratios, true_ms, noise, rng)
    else:
        known = {"true": table, "poor": profiled(table, seed), "none": None}[costs]
        field = Field(ratios, known, device_of if known else None, seed)
        chosen, spent = _raced(field, true_ms, noise, budget, rng)
    return float(true_ms[chosen] / true_ms.min() - 1), spent


def fastest_drawn(table: CostTable, seed: int) -> IntArray:
    """Return the `PLACEMENTS` fastest of ten times as many random placements, the fastest first, `[P, G]`.

    Args:
        table: costs of G groups.
        seed: of the draw.
    """
    drawn = np.unique(placements(table, 10 * PLACEMENTS, seed), axis=0)
    return np.asarray(drawn[np.argsort(latency_ms(table, drawn))[:PLACEMENTS]])


def _least_of_three(ratios: FloatArray, true_ms: FloatArray, noise: float, rng: np.random.Generator) -> tuple[int, int]:
    """Return the placement with the least of three ratios measured anew, and the number of measurements."""
    lowest = np.argsort(ratios)[:SIZE]
    again = true_ms[lowest] * np.exp(rng.normal(0, np.sqrt(2) * noise, SIZE))
    return int(lowest[again.argmin()]), 2 * SIZE


def _raced(field: Field, true_ms: FloatArray, noise: float, budget: int, rng: np.random.Generator) -> tuple[int, int]:
    """Return the placement that wins a race, and the number of measurements."""
    spent = 0

    def measure(which: IntArray, _: int) -> FloatArray:
        nonlocal spent
        spent += len(which)
        return np.asarray(true_ms[which] * np.exp(rng.normal(0, noise, len(which))))

    *_, end = race(field, measure, SIZE, budget)
    return int(end.order[0]), spent


def _slower(table: CostTable, factor: float) -> CostTable:
    return replace(table, **{name: factor * getattr(table, name) for name in KINDS})
