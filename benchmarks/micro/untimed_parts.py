"""Costs of parts for which a profile had no time, shared out by expected times or by numbers of operations.

A complete profile of each model is the truth; `untimed` counts the parts that it had no time for, 0 where it is
complete indeed. Either the times of its first groups are kept, as where time is up, or groups are timed together in
stretches, as where there are too many for the time; figures are means over 15 to 70 % of the groups, or as many
stretches. `expected times`, as in a profile: what was not timed is shared out by them, and stretches have about equal
sums of their roots. `operations`: it is shared out by their numbers, and stretches have equally many groups. `error`:
factor by which the costs of groups differ from the truth, weighted by their time. `placement` and `optimum`: time of
the best placement under these costs, and under the truth, by the truth, over that of the best single device.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from benchmarks.report import Row
from benchmarks.sessions import measured_session
from ovplace.core.cost_table import CostTable
from ovplace.core.problem import Problem
from ovplace.cost.calibration.assemble import assemble
from ovplace.cost.calibration.links import Links, fit_links
from ovplace.cost.calibration.part_layout import PartLayout, PartTask, PartTimes
from ovplace.cost.evaluate.latency import latency_ms
from ovplace.cost.solvers.portfolio import candidates
from ovplace.graphs.op_graph import FloatArray, IntArray
from ovplace.graphs.op_kinds import FREE
from ovplace.profiling.obtain import profile_costs
from ovplace.session.events import silent

RULES = ("operations", "expected times")


@dataclass(frozen=True)
class Options:
    """Options.

    Attributes:
        models: recipes.
        devices: name of the devices in `benchmarks.sessions`.
        budget_s: limit in seconds of each profile, which has to suffice for all parts.
        shares: parts of the groups that are timed, or of their number that there are stretches.
    """

    models: tuple[str, ...] = ("demo", "siren", "hyperbolic", "unet", "detector-head", "decoder", "mobilenet-v2")
    devices: str = "cpu+emulated-gpu"
    budget_s: float = 400.0
    shares: tuple[float, ...] = (0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5, 0.6, 0.7)


SHORT = Options(models=("demo",), devices="cpu+cpu", budget_s=2.0, shares=(0.5,))


@dataclass(frozen=True, eq=False)
class Truth:
    """A model with its complete profile.

    Attributes:
        problem: the model and its devices.
        links: costs of transfers.
        whole_ms: latency of the whole model on each device, `[D]`.
        table: the costs.
        untimed: parts that it had no time for; 0 where it is complete.
    """

    problem: Problem
    links: Links
    whole_ms: FloatArray
    table: CostTable
    untimed: int

    @classmethod
    def of(cls, model: str, options: Options) -> Truth:
        """Profile a model."""
        with measured_session(model, options.devices) as session:
            found = profile_costs(session.measurer, session.baselines, silent, options.budget_s)
            problem = session.measurer.session.problem
            by_name = {baseline.name: baseline.measurement.median_ms for baseline in session.baselines}
        links = fit_links(len(problem.devices), found.parts.links.alone, found.parts.links.splits)
        whole_ms = np.array([by_name.get(name, np.inf) for name in problem.device_names])
        return cls(problem, links, whole_ms, found.table, found.report.estimated)

    def timed(self, layout: PartLayout, share: float) -> PartTimes:
        """Return the times of the first units of a layout: of their groups, less what these save inside."""
        times = PartTimes()
        for task in layout.singles():
            inside = layout.unit_of == task.units[0]
            saved = self.table.saving_ms[inside[self.table.edges].all(axis=0), task.device].sum()
            ms = float(self.table.group_ms[inside, task.device].sum() - saved)
            if task.units[0] < share * len(layout.members):
                times.ms[PartTask(task.units, task.device)] = (ms, ms, ms)
        return times

    def judged(self, layout: PartLayout, share: float = 1.0) -> tuple[float, float]:
        """Return the error of costs from a part of the times, and the time of the placement that they lead to."""
        found = assemble(self.problem, layout, self.timed(layout, share), self.links, self.whole_ms)
        of, true = found.group_ms, self.table.group_ms
        known = np.isfinite(true) & (true > 0)
        weights = (true / np.where(known, true, 0.0).sum(axis=0))[known]
        error = float(np.exp(np.average(np.abs(np.log(of[known] / true[known])), weights=weights)))
        return error, self.relative(candidates(found)[0])

    def relative(self, choice: IntArray) -> float:
        """Return the time of a placement by the truth, over that of the best single device."""
        alone = np.stack([self.problem.uniform(d) for d in range(len(self.problem.devices))])
        return float(latency_ms(self.table, choice[None])[0] / latency_ms(self.table, alone).min())


def rows(options: Options) -> Iterator[Row]:
    """Yield two rows for each model: with the first of its groups timed, and with stretches of them."""
    for model in options.models:
        truth = Truth.of(model, options)
        n, optimum = truth.problem.n_groups, truth.relative(candidates(truth.table)[0])
        case: Row = {"model": model, "groups": n, "untimed": truth.untimed}
        first = {
            rule: [truth.judged(_layout(truth.problem, rule, n), share) for share in options.shares] for rule in RULES
        }
        counts = [max(2, round(share * n)) for share in options.shares]
        joined = {rule: [truth.judged(_layout(truth.problem, rule, count)) for count in counts] for rule in RULES}
        yield {**case, "timed": "the first groups", **_means(first), "optimum": optimum}
        yield {**case, "timed": "stretches", **_means(joined), "optimum": optimum}


def _means(judged: Mapping[str, Sequence[tuple[float, float]]]) -> Row:
    """Return the columns of each rule: means of what `Truth.judged` returned."""
    errors = {
        f"error: {rule}": float(np.exp(np.mean(np.log([error for error, _ in of])))) for rule, of in judged.items()
    }
    placements = {f"placement: {rule}": float(np.mean([ms for _, ms in of])) for rule, of in judged.items()}
    return errors | placements


def _layout(problem: Problem, rule: str, most_units: int) -> PartLayout:
    """Return the layout of a profile, or what it would be by numbers of operations."""
    if rule == "expected times":
        return PartLayout.of(problem, most_units)
    n = problem.n_groups
    unit_of = np.empty(n, dtype=np.int64)
    unit_of[problem.group_order] = np.arange(n) * most_units // n
    computing = np.array([kind not in FREE for kind in problem.graph.types], dtype=np.float64)
    counts = np.bincount(problem.partition.group_of, weights=computing, minlength=n)
    return replace(PartLayout.of_units(problem, unit_of), weight=np.maximum(counts, 1.0))
