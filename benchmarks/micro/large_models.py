"""Time that the default placer takes of its own for models of many groups, by this revision and an earlier one.

The models are random near-chains of groups on two devices, of which one is faster nearly everywhere. Latencies are the
cost model's, with noise of 3 %. A search ends with a number of placements, or at the first placement after a time.
`placements`: told to the placer by then. `median s` and `worst s`: of asking for a placement and telling its latency.
`best`: latency of the fastest placement asked for, over the lower bound that the minimum cut proves. `memory_mib`: peak
of the process.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from benchmarks.random_costs import random_table
from benchmarks.report import Row
from benchmarks.revisions import checked_out
from benchmarks.script import ROOT
from benchmarks.timing import memory_mib
from ovplace.core.cost_table import CostTable
from ovplace.core.problem import Problem
from ovplace.cost.evaluate.latency import latency_ms
from ovplace.cost.solvers.min_cut import solve_min_cut
from ovplace.plugins import registry
from ovplace.seeds import generator
from ovplace.testing.graphs import graph, problem, trial_of

NOISE = 0.03
"""Standard deviation of the logarithm of a latency."""


@dataclass(frozen=True)
class Options:
    """Options.

    Attributes:
        sizes: groups of the models.
        revision: the earlier revision; by default the last one that looked at all moves of a large model.
        placements: that a search asks for.
        limit_s: time after which it asks for no more.
    """

    sizes: tuple[int, ...] = (256, 512, 1024, 2048)
    revision: str = "e2f2d327"
    placements: int = 20
    limit_s: float = 60.0


SHORT = Options(sizes=(30,), revision="HEAD", placements=2)


def rows(options: Options) -> Iterator[Row]:
    """Yield a row for each size and revision."""
    with checked_out(options.revision) as earlier:
        for n_groups in options.sizes:
            for name, folder in ((options.revision, earlier), ("this", ROOT.parent)):
                arguments = [str(n_groups), str(options.placements), str(options.limit_s)]
                environment = {**os.environ, "PYTHONPATH": str(folder), "OMP_NUM_THREADS": "1"}
                command = [sys.executable, __file__, *arguments]
                done = subprocess.run(command, cwd=folder, env=environment, check=True, stdout=subprocess.PIPE)
                yield {"groups": n_groups, "revision": name, **json.loads(done.stdout)}


def search(n_groups: int, placements: int, limit_s: float) -> Row:
    """Return what a search took.

    Args:
        n_groups: groups of the model.
        placements: to ask for.
        limit_s: time after which it asks for no more.
    """
    table = random_table(n_groups, 0, model_like=True)
    of, rng = _problem(table), generator(0, "benchmark", "large models", n_groups)
    plugin = registry.load("placers", "min_cut")
    placer, begun = plugin.factory(of, plugin.config({})), time.monotonic()
    best_ms, alone_ms, taken_s = np.inf, float(_alone_ms(table).min()), list[float]()
    while len(taken_s) < placements and time.monotonic() - begun < limit_s:
        start = time.perf_counter()
        (placement,) = placer.ask(1)
        found_ms = float(latency_ms(table, of.lower(placement)[None])[0])
        placer.tell([trial_of(len(taken_s), placement, found_ms / alone_ms * np.exp(NOISE * rng.standard_normal()))])
        taken_s.append(time.perf_counter() - start)
        best_ms = min(best_ms, found_ms)
    return {
        "placements": len(taken_s),
        "median s": float(np.median(taken_s)),
        "worst s": max(taken_s),
        "best": best_ms / solve_min_cut(table).certificate.lower_bound_ms,
        "memory_mib": memory_mib(),
    }


def _problem(table: CostTable) -> Problem:
    edges: list[Any] = table.edges.T.tolist()
    of = graph(("Relu",) * table.n_groups, [(source, target) for source, target in edges])
    return replace(problem(of, table.n_devices), costs=table)


def _alone_ms(table: CostTable) -> np.ndarray[Any, Any]:
    return latency_ms(table, np.stack([table.uniform(device) for device in range(table.n_devices)]))


if __name__ == "__main__":
    print(json.dumps(search(int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]))))
