"""How often a search is skipped, and the largest gain lost by it, if the profile is wrong.

For each recipe (small) on the first and the last device of each machine, the true costs are those of the simulated
machine. The profile that the bound sees is wrong by log-normal factors, one on each cost and one on all of a device.
Then its groups and savings are scaled so that each device alone takes what it really takes: baselines are measured.
Where the overhead of submodels would leave less than a tenth of that, they keep a tenth, as in a run. A search is
skipped where the profile has the fastest device for the fastest, and no placement can gain more than the limit even if
each cost of the profile is wrong by the factor in favour of splits. The gain lost is that of the best placement that
the solvers find for the true costs.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from benchmarks.prepared import prepared_recipe
from benchmarks.report import Row
from benchmarks.searches.wrong_costs import wrong_costs
from ovplace.core.cost_table import CostTable
from ovplace.cost.evaluate.latency import latency_ms, pairwise_ms
from ovplace.cost.solvers.gain_bound import gain_bound
from ovplace.cost.solvers.portfolio import best_known
from ovplace.graphs.op_graph import FloatArray, OpGraph
from ovplace.ir.legal.groups import legal_groups
from ovplace.ir.read import read_graph
from ovplace.shipped import shipped_in
from ovplace.simulation.machine import SimulatedMachine
from ovplace.simulation.machine_file import load_machine
from ovplace.train.random_machines import random_machines
from ovplace.zoo import names, recipe


@dataclass(frozen=True)
class Options:
    """Options.

    Attributes:
        recipes: models; all if there are none.
        random: number of random machines beside the shipped ones.
        spreads: standard deviations of the logarithm of each cost's error.
        factors: factors of the bound.
        seeds: profiles of each model on each machine.
        limit: gain that is given up, as a fraction.
        time_limit_s: seconds of each mixed-integer program.
    """

    recipes: tuple[str, ...] = ()
    random: int = 16
    spreads: tuple[float, ...] = (0.1, 0.2, 0.3, 0.5)
    factors: tuple[float, ...] = (1.0, 1.1, 1.25, 1.5, 2.0)
    seeds: int = 1
    limit: float = 0.01
    time_limit_s: float = 5.0


_LEAST_WORK = 0.1
"""Least part of a measured latency that is left to the groups, as `ovplace/cost/calibration/calibrate.py` has it."""

_ROUNDING = 1e-9
"""By which two latencies that are scaled to the same number may differ."""

SHORT = Options(recipes=("siren",), random=1, spreads=(0.2,))


def rows(options: Options) -> Iterator[Row]:
    """Yield a row for each spread and factor."""
    machines = _machines(options.random)
    tables = [table for graph, name in _models(options.recipes) for table in _tables(graph, name, machines)]
    gains, percent = np.array([_gain(table) for table in tables]), f"{100 * options.limit:g}"
    for spread in options.spreads:
        bounds = _bounds(tables, spread, options)
        for f, factor in enumerate(options.factors):
            skipped = bounds[:, :, f] <= options.limit
            lost = np.where(skipped, gains[:, None], 0.0)
            yield {
                "spread of the error": f"{spread:g}",
                "factor of the bound": f"{factor:g}",
                "profiles": skipped.size,
                f"gain at most {percent} %": f"{(gains <= options.limit).mean():.0%}",
                "searches skipped": f"{skipped.mean():.1%}",
                f"skipped though over {percent} % lost": int((lost > options.limit).sum()),
                "largest gain lost": f"{lost.max():.2%}",
            }


def _machines(random: int) -> list[SimulatedMachine]:
    """Return the first and the last device of each shipped machine, and of random ones."""
    shipped = [load_machine(name) for name in shipped_in("configs/machines", ".toml")]
    found = [*shipped, *random_machines(shipped, 0, random)]
    return [replace(machine, devices=(machine.devices[0], machine.devices[-1])) for machine in found]


def _models(chosen: Sequence[str]) -> Iterator[tuple[OpGraph, str]]:
    with tempfile.TemporaryDirectory() as folder:
        for name in chosen or names():
            yield read_graph(prepared_recipe(name, Path(folder), recipe(name).SMALL)), name


def _tables(graph: OpGraph, name: str, machines: Sequence[SimulatedMachine]) -> Iterator[CostTable]:
    """Yield the costs on each machine where some device runs the whole model, and another some of it."""
    legal = legal_groups(graph)
    for machine in machines:
        table = machine.table(graph, legal, name)
        runs = np.isfinite(table.group_ms)
        if table.n_groups > 1 and runs.all(axis=0).any() and runs.any(axis=0).sum() > 1:
            yield table


def _alone_ms(table: CostTable) -> FloatArray:
    """Return the latency of the whole model on each device, infinite where it does not run, `[D]`."""
    return latency_ms(table, table.uniform_choices())


def _gain(table: CostTable) -> float:
    found = float(latency_ms(table, best_known(table)[None])[0])
    return float(1 - found / _alone_ms(table).min())


def _bounds(tables: Sequence[CostTable], spread: float, options: Options) -> FloatArray:
    """Return the bound for each table, profile and factor, `[T, S, F]`."""
    found = np.empty((len(tables), options.seeds, len(options.factors)))
    for t, table in enumerate(tables):
        alone_ms = _alone_ms(table)
        for seed in range(options.seeds):
            profile = as_measured(_wrong(table, spread, 1000 * t + seed), alone_ms)
            found[t, seed] = _bounds_of(profile, int(alone_ms.argmin()), options)
    return found


def _bounds_of(profile: CostTable, fastest: int, options: Options) -> FloatArray:
    """Return the bound for each factor, `[F]`; infinite where the profile has another device for the fastest."""
    alone_ms = _alone_ms(profile)
    if alone_ms[fastest] > alone_ms.min() * (1 + _ROUNDING):
        return np.full(len(options.factors), np.inf)
    return np.array([gain_bound(profile, fastest, factor, options.time_limit_s) for factor in options.factors])


def _wrong(table: CostTable, spread: float, seed: int) -> CostTable:
    """Return wrong costs; a saving is wrong as its first group is, which it would exceed otherwise."""
    profile = wrong_costs(spread, seed)(table)
    factor = np.ones_like(table.group_ms)
    np.divide(profile.group_ms, table.group_ms, out=factor, where=np.isfinite(table.group_ms) & (table.group_ms > 0))
    return replace(profile, saving_ms=table.saving_ms * np.minimum(factor[table.edges[0]], factor[table.edges[1]]))


def as_measured(profile: CostTable, alone_ms: FloatArray) -> CostTable:
    """Return the profile with groups and savings scaled so that each device alone takes what was measured.

    Args:
        profile: wrong costs.
        alone_ms: latency of the whole model on each device, infinite where it does not run, `[D]`.
    """
    ours_ms, work_ms = _alone_ms(profile), pairwise_ms(profile, profile.uniform_choices())
    runs = np.isfinite(ours_ms)
    overhead_ms = ours_ms[runs] - work_ms[runs]
    scale = np.ones_like(work_ms)
    scale[runs] = np.maximum(alone_ms[runs] - overhead_ms, _LEAST_WORK * alone_ms[runs]) / work_ms[runs]
    return replace(profile, group_ms=profile.group_ms * scale, saving_ms=profile.saving_ms * scale)
