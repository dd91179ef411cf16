"""How long solving and evaluating cost models takes, and how that grows with the graph, as JSON.

    python benchmarks/solvers.py [--largest 100000] [--model inception.xml] [--milp] [-o solvers.json]

`min_cut` rows give the median and the worst time over boundary weights of 0.25 to 30 and several random graphs, and
the largest gap to the proven bound. `random` graphs prefer either device at random; those called `model` prefer one
nearly everywhere, as real models do. Both are near-chains with about 1.1 edges a group, some of them shortcuts of up
to 30 groups. `milp` rows are of 300 such groups, or of the legal groups of `--model`, on three devices, under the full
model. `evaluate` rows time one batch under the full model, devices drawn group by group, or in 8 stretches.
Growth exponents are least-squares slopes of log time over log groups.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ovplace.coarseners import chains
from ovplace.core.cost_table import CostTable
from ovplace.core.traffic import Traffic
from ovplace.cost.evaluate.latency import latency_ms, pairwise_ms
from ovplace.cost.solvers.milp.solver import solve_milp
from ovplace.cost.solvers.min_cut import solve_min_cut
from ovplace.graphs.op_graph import FloatArray, IntArray, OpGraph
from ovplace.ir.legal.groups import legal_groups
from ovplace.ir.prepare.prepare import prepare
from ovplace.ir.read import own_name, read_graph
from ovplace.seeds import generator
from ovplace.simulation.machine_file import load_machine
from ovplace.testing.graphs import problem

SIZES = (100, 200, 300, 500, 1000, 2000, 3000)
WEIGHTS = (0.25, 1.0, 4.0, 30.0)
Row = dict[str, Any]


def random_table(n: int, seed: int, model_like: bool = False, n_devices: int = 2) -> CostTable:
    """Return random costs of a near-chain of `n` groups."""
    rng = generator(seed, "benchmark", "solvers", n)
    edges = near_chain(n, rng)
    starts = np.flatnonzero(np.diff(edges[0], prepend=-1))
    traffic = Traffic(edges[0, starts], rng.integers(100, 10_000, len(starts)), starts, edges[1])
    work = model_work(n, n_devices, rng) if model_like else rng.gamma(2.0, 0.5, (n, n_devices))
    fused = rng.random((edges.shape[1], n_devices)) * (rng.random((edges.shape[1], 1)) < 0.3)
    return CostTable(
        traffic=traffic,
        edges=edges,
        group_ms=work,
        saving_ms=0.25 * fused * np.minimum(work[edges[0]], work[edges[1]]),
        latency_ms=0.3 * rng.random((n_devices, n_devices)),
        ms_per_byte=3e-4 * rng.random((n_devices, n_devices)),
        submodel_ms=0.1 * rng.random(n_devices),
        group_bytes=1000.0 * rng.random(n),
        memory_bytes=np.full(n_devices, np.inf),
    )


def near_chain(n: int, rng: np.random.Generator) -> IntArray:
    """Return edges by source, `[2, Q]`: most groups read the one before, some another, some two."""
    target = np.arange(1, n)
    back = np.where(rng.random(n - 1) < 0.85, 1, rng.integers(1, 30, n - 1))
    second = target[rng.random(n - 1) < 0.12]
    source = np.concatenate([target - back, second - rng.integers(1, 30, len(second))]).clip(0)
    pairs = np.unique(source * n + np.concatenate([target, second]))
    return np.stack([pairs // n, pairs % n])


def model_work(n: int, n_devices: int, rng: np.random.Generator) -> FloatArray:
    """Return times of which few are large, most in one ratio, with a fixed part on each device but the first."""
    size = rng.gamma(0.5, 2.0, n)
    speed = 2.0 ** -np.arange(n_devices)
    return np.asarray(size[:, None] * speed * rng.lognormal(0, 0.3, (n, n_devices)) + 0.3 * (speed < 1))


def best_ms(work: Callable[[], object], repeats: int = 5) -> float:
    """Return the shortest of some runs after one to warm up: others share the machine."""
    work()
    found = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        found.append(1000 * (time.perf_counter() - start))
    return min(found)


def min_cut_row(n: int, model_like: bool) -> Row:
    """Return times and gaps of the minimum cut over graphs and weights."""
    few = n > 10_000
    runs = [(random_table(n, seed, model_like), w) for seed in range(1 if few else 3) for w in WEIGHTS]
    times = [best_ms(lambda t=table, w=weight: solve_min_cut(t, w), 1 if few else 5) for table, weight in runs]  # type: ignore[misc]
    gap = max(solve_min_cut(table, weight).certificate.gap for table, weight in runs)
    return {
        "row": "min_cut", "graphs": "model" if model_like else "random", "groups": n,
        "edges": int(runs[0][0].edges.shape[1]), "median_ms": round(float(np.median(times)), 2),
        "worst_ms": round(max(times), 2), "largest_gap": gap,
    }  # fmt: skip


def evaluate_row(name: str, table: CostTable, batch: int) -> Row:
    """Return times of one batch of placements."""
    rng = generator(0, "benchmark", "placements")
    scattered = rng.integers(table.n_devices, size=(batch, table.n_groups))
    cuts = np.sort(rng.integers(table.n_groups, size=(batch, 7, 1)), axis=1)
    stretches = (np.arange(table.n_groups) >= cuts).sum(axis=1) % table.n_devices
    return {
        "row": "evaluate", "graphs": name, "groups": table.n_groups, "placements": batch,
        "full_ms": round(best_ms(lambda: latency_ms(table, scattered)), 2),
        "full_stretches_ms": round(best_ms(lambda: latency_ms(table, stretches)), 2),
        "pairwise_ms": round(best_ms(lambda: pairwise_ms(table, scattered)), 2),
    }  # fmt: skip


def model_rows(path: Path) -> list[Row]:
    """Return the times of 1,000 placements of a model, as coarsened by default and with all its legal groups."""
    graph = prepared(path)
    legal = legal_groups(graph)
    coarse = chains.Coarsener(chains.Config()).coarsen(graph, legal)
    return [evaluate_row(path.stem, _table(problem(graph, partition=groups).costs), 1000) for groups in (coarse, legal)]


def prepared(path: Path) -> OpGraph:
    """Return the graph of a model as it is placed."""
    with tempfile.TemporaryDirectory() as folder:
        prepare(path, Path(folder) / "prepared.xml")
        return read_graph(Path(folder) / "prepared.xml")


def _table(costs: CostTable | None) -> CostTable:
    assert costs is not None
    return costs


def milp_rows(path: Path | None) -> Iterator[Row]:
    """Yield what the mixed-integer program proves of 300 random groups, and of a model, on three devices."""
    for graphs in ("model", "random"):
        for seed in range(5):
            table = random_table(300, seed, graphs == "model", n_devices=3)
            yield {"graphs": graphs, "seed": seed} | proven(table)
    if path:
        graph = prepared(path)
        for machine in ("two-gpus", "core-ultra"):
            table = load_machine(machine).table(graph, legal_groups(graph), own_name(path))
            yield {"graphs": path.stem, "simulated": machine} | proven(table)


def proven(table: CostTable, limit_s: float = 60.0) -> Row:
    """Return what the mixed-integer program proves within the time limit."""
    certificate = solve_milp(table, time_limit_s=limit_s).certificate
    return {
        "row": "milp", "model": certificate.model, "groups": table.n_groups, "devices": len(table.memory_bytes),
        "seconds": round(certificate.seconds, 2), "gap": certificate.gap, "proven": certificate.gap < 1e-6,
    }  # fmt: skip


def exponent(rows: list[Row], value: str) -> Row:
    """Return the growth of `value` with the number of groups."""
    slope = np.polyfit(np.log([row["groups"] for row in rows]), np.log([row[value] for row in rows]), 1)[0]
    return {"row": "exponent", "of": rows[0]["row"], "graphs": rows[0]["graphs"], "value": value,
            "groups": [row["groups"] for row in rows], "exponent": round(float(slope), 3)}  # fmt: skip


def growth_rows(largest: int, say: Callable[[Row], Row]) -> None:
    """Say times at growing sizes, and their exponents."""
    for model_like in (False, True):
        rows = [say(min_cut_row(n, model_like)) for n in SIZES]
        for n in (10_000, 30_000, 100_000):
            if n <= largest:
                rows.append(say(min_cut_row(n, model_like)))
        say(exponent(rows, "median_ms"))
        say(exponent(rows, "worst_ms"))
    rows = [say(evaluate_row("random", random_table(n, 0), 200)) for n in SIZES]
    for value in ("full_ms", "full_stretches_ms", "pairwise_ms"):
        say(exponent(rows, value))


def main() -> None:
    """Print a line a row, and write all of them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--largest", type=int, default=100_000)
    parser.add_argument("--model", type=Path, help="a model whose placements are evaluated, such as Inception-V3")
    parser.add_argument("--milp", action="store_true", help="also the mixed-integer program, a minute a row at most")
    parser.add_argument("-o", "--output", type=Path)
    options = parser.parse_args()
    rows: list[Row] = []

    def say(row: Row) -> Row:
        rows.append(row)
        print(json.dumps(row), file=sys.stdout, flush=True)
        return row

    for row in model_rows(options.model) if options.model else []:
        say(row)
    growth_rows(options.largest, say)
    for row in milp_rows(options.model) if options.milp else ():
        say(row)
    if options.output:
        options.output.write_text(json.dumps(rows, indent=2) + "\n")


if __name__ == "__main__":
    main()
