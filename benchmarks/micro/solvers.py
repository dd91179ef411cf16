"""Time of solving and evaluating cost models, and its growth with the graph.

`min_cut` rows give the median and the worst time over boundary weights of 0.25 to 30 and three random graphs, or one
graph timed once if it has more than 10,000 groups, and the largest gap to the proven bound. `random` graphs prefer
either device at random; those called `model` prefer one nearly everywhere, as real models do. Both are near-chains with
about 1.1 edges a group, some of them shortcuts of up to 30 groups. `evaluate` rows time one batch under the full model,
devices drawn group by group, or in 8 stretches. Growth exponents are least-squares slopes of log time over log groups,
over all sizes of the same graphs; small sizes count as much as large ones.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.prepared import prepared_recipe
from benchmarks.random_costs import random_table
from benchmarks.timing import best_ms
from ovplace.coarseners import chains
from ovplace.core.cost_table import CostTable
from ovplace.cost.evaluate.latency import latency_ms, pairwise_ms
from ovplace.cost.solvers.min_cut import solve_min_cut, weighted
from ovplace.ir.legal.groups import legal_groups
from ovplace.ir.read import read_graph
from ovplace.seeds import generator
from ovplace.testing.graphs import problem

WEIGHTS = (0.25, 1.0, 4.0, 30.0)
LARGE = 10_000
"""Groups beyond which one graph is timed once; from here on, no random costs are evaluated."""

Row = dict[str, Any]


@dataclass(frozen=True)
class Options:
    """Options.

    Attributes:
        sizes: groups of the graphs.
        repeats: of each time.
        model: recipe whose placements are evaluated; none if empty.
    """

    sizes: tuple[int, ...] = (100, 200, 300, 500, 1000, 2000, 3000, 10_000, 30_000, 100_000)
    repeats: int = 5
    model: str = "inception-v3"


SHORT = Options(sizes=(50, 100), repeats=1, model="demo")


def rows(options: Options) -> Iterator[Row]:
    """Yield times, and their growth with the size."""
    if options.model:
        yield from _model_rows(options)
    for graphs in ("random", "model"):
        found = [_min_cut_row(n, graphs, options.repeats) for n in options.sizes]
        yield from found
        yield from (_exponent(found, value) for value in ("median_ms", "worst_ms"))
    found = [_evaluate_row("random", random_table(n, 0), 200, options.repeats) for n in options.sizes if n < LARGE]
    yield from found
    yield from (_exponent(found, value) for value in ("full_ms", "full_stretches_ms", "pairwise_ms"))


def _min_cut_row(n: int, graphs: str, repeats: int) -> Row:
    """Return times and gaps of the minimum cut over graphs and weights."""
    seeds, times = (1, 1) if n > LARGE else (3, repeats)
    tables = [random_table(n, seed, graphs == "model") for seed in range(seeds)]
    cases = [weighted(table, weight) for table in tables for weight in WEIGHTS]
    found = [best_ms(partial(solve_min_cut, table), times) for table in cases]
    return {
        "row": "min_cut",
        "graphs": graphs,
        "groups": n,
        "edges": int(tables[0].edges.shape[1]),
        "median_ms": float(np.median(found)),
        "worst_ms": max(found),
        "largest_gap": max(solve_min_cut(table).certificate.gap for table in cases),
    }


def _evaluate_row(graphs: str, table: CostTable, batch: int, repeats: int) -> Row:
    """Return times of one batch of placements."""
    rng = generator(0, "benchmark", "placements")
    scattered = rng.integers(table.n_devices, size=(batch, table.n_groups))
    cuts = np.sort(rng.integers(table.n_groups, size=(batch, 7, 1)), axis=1)
    stretches = (np.arange(table.n_groups) >= cuts).sum(axis=1) % table.n_devices
    return {
        "row": "evaluate",
        "graphs": graphs,
        "groups": table.n_groups,
        "placements": batch,
        "full_ms": best_ms(lambda: latency_ms(table, scattered), repeats),
        "full_stretches_ms": best_ms(lambda: latency_ms(table, stretches), repeats),
        "pairwise_ms": best_ms(lambda: pairwise_ms(table, scattered), repeats),
    }


def _model_rows(options: Options) -> Iterator[Row]:
    """Yield the times of 1,000 placements of a model, as coarsened by default and with all its legal groups."""
    with tempfile.TemporaryDirectory() as folder:
        graph = read_graph(prepared_recipe(options.model, Path(folder)))
    legal = legal_groups(graph)
    coarse = chains.Coarsener(chains.Config()).coarsen(graph, legal, np.ones((legal.n_groups, 1), dtype=bool))
    for groups in (coarse, legal):
        costs = problem(graph, partition=groups).costs
        assert costs is not None
        yield _evaluate_row(options.model, costs, 1000, options.repeats)


def _exponent(found: Sequence[Row], value: str) -> Row:
    """Return the growth of `value` with the number of groups."""
    slope = np.polyfit(np.log([row["groups"] for row in found]), np.log([row[value] for row in found]), 1)[0]
    return {"row": f"exponent of {found[0]['row']} {value}", "graphs": found[0]["graphs"], "exponent": float(slope)}
