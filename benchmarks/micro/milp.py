"""Gap that the mixed-integer program proves within its time limit, on three devices.

The full model of 300 random groups (`model` graphs prefer one device nearly everywhere, as real models do), and of the
legal groups of a model on simulated machines.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.prepared import prepared_recipe
from benchmarks.random_costs import random_table
from benchmarks.report import Row
from benchmarks.searches.place import Place
from ovplace.core.cost_table import CostTable
from ovplace.cost.solvers.milp.solver import solve_milp


@dataclass(frozen=True)
class Options:
    """Options.

    Attributes:
        groups: of the random graphs.
        seeds: random graphs of each kind.
        model: recipe; none if empty.
        machines: on which its costs are taken.
        time_limit_s: seconds of each program.
    """

    groups: int = 300
    seeds: int = 5
    model: str = "inception-v3"
    machines: tuple[str, ...] = ("two-gpus", "core-ultra")
    time_limit_s: float = 60.0


SHORT = Options(groups=20, seeds=1, model="", time_limit_s=5.0)


def rows(options: Options) -> Iterator[Row]:
    """Yield a row for each program."""
    for graphs in ("model", "random"):
        for seed in range(options.seeds):
            table = random_table(options.groups, seed, graphs == "model", n_devices=3)
            yield {"graphs": graphs, "seed or machine": str(seed), **_proven(table, options.time_limit_s)}
    if options.model:
        with tempfile.TemporaryDirectory() as folder:
            model = prepared_recipe(options.model, Path(folder))
            for machine in options.machines:
                found = _proven(Place(model, machine).table, options.time_limit_s)
                yield {"graphs": options.model, "seed or machine": f"{machine} (simulated)", **found}


def _proven(table: CostTable, limit_s: float) -> Row:
    """Return the gap proven within the time limit."""
    certificate = solve_milp(table, time_limit_s=limit_s).certificate
    return {
        "cost model": certificate.model,
        "groups": table.n_groups,
        "seconds": round(certificate.seconds, 2),
        "gap": certificate.gap,
        "proven": certificate.gap < 1e-6,
    }
