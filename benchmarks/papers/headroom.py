"""Certified optimum of the cost model for the models of HSDAG's paper, and what any placement can gain.

For each model: both devices alone, the certified optimum at the level of legal groups, and the optimum if transfers and
submodels cost nothing. It says what the published single-device latencies leave room for if the machine is as its file
describes it, and nothing about the paper's machine.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from benchmarks.hsdag_paper import MACHINE, PUBLISHED_MS, paper_models
from benchmarks.report import Row
from benchmarks.searches.place import Place
from ovplace.core.certificate import PAIRWISE
from ovplace.cost.solvers.milp.solver import solve_milp
from ovplace.cost.solvers.portfolio import best_certified


@dataclass(frozen=True)
class Options:
    """Options.

    Attributes:
        models: of the paper; all if there are none.
        machine: name or file of a simulated machine.
        time_limit_s: seconds of each mixed-integer program.
    """

    models: tuple[str, ...] = ()
    machine: str = MACHINE
    time_limit_s: float = 60.0


SHORT = Options(models=("resnet-50",), time_limit_s=5.0)


def rows(options: Options) -> Iterator[Row]:
    """Yield a row for each model."""
    with paper_models(options.models, options.machine) as models:
        for name, place in models.items():
            yield {"model": name, **_row(place, options.time_limit_s), **_published(name, options.machine)}


def _row(place: Place, time_limit_s: float) -> Row:
    best, alone = best_certified(place.table, time_limit_s), place.alone_ms()
    nothing = np.zeros_like(place.table.latency_ms)
    free = replace(place.table, latency_ms=nothing, ms_per_byte=nothing)
    return {
        "groups": place.table.n_groups,
        **{f"{device} alone, ms": ms for device, ms in alone.items()},
        "optimum, ms": best.value_ms,
        "no placement below, ms": best.lower_bound_ms,
        "gain": f"{max(0.0, 1 - best.value_ms / min(alone.values())):.2%}",
        "free borders, ms": solve_milp(free, model=PAIRWISE, time_limit_s=time_limit_s).certificate.value_ms,
    }


def _published(name: str, machine: str) -> Row:
    if machine != MACHINE:
        return {}
    found = PUBLISHED_MS[name]
    return {
        "HSDAG, published, ms": found["HSDAG"],
        "published gain": f"{1 - found['HSDAG'] / min(found['GPU'], found['CPU']):.2%}",
    }
