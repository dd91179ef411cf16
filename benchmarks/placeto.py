"""What coherent draws are worth to Placeto: seven mixed cases, latency over that of the fast solvers' placement.

    python benchmarks/placeto.py [--seeds 1] [--budgets 8 20 60]

All of it is simulated, without noise: a placement takes what the cost model says. One JSON line an arm: mean and worst
over cases and seeds after so many placements measured, and seconds of own computing a search.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from ovplace import zoo
from ovplace.config.schema import RunConfig
from ovplace.core.problem import Problem
from ovplace.cost.evaluate.latency import latency_ms
from ovplace.cost.solvers.portfolio import best_known
from ovplace.ir.prepare.prepare import prepare
from ovplace.ir.read import read_graph
from ovplace.plugins import registry
from ovplace.session.problem import make_problem
from ovplace.simulation.machine_file import load_machine
from ovplace.testing.graphs import measured

CASES = (
    ("decoder", {}, "two-gpus"),
    ("attention", {"index": 14}, "two-gpus"),
    ("attention", {"index": 22}, "core-ultra"),
    ("attention", {"index": 24}, "i9-12900k+flex170"),
    ("cells", {"index": 10}, "core-ultra"),
    ("recurrent", {"index": 1}, "core-ultra"),
    ("recurrent", {"index": 4}, "core-ultra"),
)
"""Recipe, options, machine: on each, the best single device is at least 5 % slower than a mixed placement."""

ARMS: Mapping[str, Mapping[str, object]] = {"coherent": {}, "independent": {"coherent": False}}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--budgets", type=int, nargs="+", default=[8, 20, 60])
    arguments = parser.parse_args()
    known = list(cases())
    for name, settings in ARMS.items():
        played = [play(of, settings, arguments.budgets, seed) for of in known for seed in range(arguments.seeds)]
        over, own_s = (np.array(column) for column in zip(*played, strict=True))
        print(json.dumps({"arm": name} | summary(over, own_s, arguments.budgets)), flush=True)


def cases() -> Iterator[Problem]:
    """Yield the problems, with the costs of their machine."""
    for name, options, machine_name in CASES:
        machine = load_machine(machine_name)
        with tempfile.TemporaryDirectory() as folder:
            built, prepared = Path(folder) / "built.xml", Path(folder) / "prepared.xml"
            zoo.save(name, zoo.recipe(name).Config(**options), built)
            prepare(built, prepared)
            graph = read_graph(prepared)
        problem = make_problem(RunConfig(), graph, machine.as_devices(), machine.supported(graph))
        yield replace(problem, costs=machine.table(graph, problem.partition))


def play(of: Problem, settings: Mapping[str, object], budgets: Sequence[int], seed: int) -> tuple[list[float], float]:
    """Search once; return the best latency over the solvers' after each budget, and seconds of own computing."""
    assert of.costs is not None
    known_ms = float(latency_ms(of.costs, best_known(of.costs)[None])[0])
    plugin = registry.load("placers", "placeto")
    start = time.process_time()
    placer = plugin.factory(replace(of, seed=seed), plugin.config(dict(settings)))
    found: list[float] = []
    while len(found) < max(budgets) and (asked := placer.ask(4)):
        ms = latency_ms(of.costs, np.stack([of.lower(placement) for placement in asked])).tolist()
        placer.tell([measured(len(found), placement, value) for placement, value in zip(asked, ms, strict=True)])
        found += ms
    return [min(found[:budget]) / known_ms for budget in budgets], time.process_time() - start


def summary(over: np.ndarray, own_s: np.ndarray, budgets: Sequence[int]) -> dict[str, object]:
    rows = {
        str(budget): {"mean": round(float(column.mean()), 3), "worst": round(float(column.max()), 3)}
        for budget, column in zip(budgets, over.T, strict=True)
    }
    return rows | {"own_s": round(float(own_s.mean()), 1)}


if __name__ == "__main__":
    main()
