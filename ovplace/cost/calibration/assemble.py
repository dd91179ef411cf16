"""The costs of a model's groups from timing its parts: what to time, and how to assemble it.

A group timed alone takes longer than inside the whole: it pays the conversions and layout changes at its ends that
neighbours on the same device share or fuse. The difference between two neighbours alone and both together is their
pairwise saving. Sums of parts without it are up to twice the whole.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from ovplace.core.cost_table import CostTable
from ovplace.core.problem import Problem
from ovplace.core.traffic import Traffic
from ovplace.cost.calibration.links import Links
from ovplace.graphs.dag import lowest_connected
from ovplace.graphs.op_graph import BoolArray, FloatArray, IntArray, OpGraph

FREE = ("Parameter", "Constant", "Result")
COMPETITIVE = 2.0
"""A group within this factor of its fastest device may well run there: pairs of such groups are timed first."""

_MOST_SAVED = 3.0
"""Calibration multiplies savings by this at most; what is still missing is the groups'."""


@dataclass(frozen=True)
class Task:
    """A part to time on a device.

    Attributes:
        units: the units it consists of: one, or two neighbours, ascending.
        device: index of the device.
    """

    units: tuple[int, ...]
    device: int


@dataclass(frozen=True, eq=False)
class Layout:
    """The problem as units that are timed: groups, or stretches of groups where there are too many of them.

    Attributes:
        unit_of: unit of each group, `[G]`.
        members: operations of each unit, `[U]` tuples.
        allowed: which device can run which unit, `[U, D]`.
        weight: operations of each group that compute, at least 1, `[G]`.
        pairs: neighbouring units, ascending, `[2, P]`.
    """

    unit_of: IntArray
    members: tuple[tuple[int, ...], ...]
    allowed: BoolArray
    weight: FloatArray
    pairs: IntArray

    @classmethod
    def of(cls, problem: Problem, most_units: int) -> Layout:
        """Return the layout of a problem with at most about `most_units` units."""
        n = problem.n_groups
        unit_of = _stretches(problem, most_units)
        n_units = int(unit_of.max()) + 1
        allowed = np.ones((n_units, len(problem.devices)), dtype=bool)
        np.logical_and.at(allowed, unit_of, problem.allowed)
        of_op = unit_of[problem.partition.group_of]
        computing = np.array([kind not in FREE for kind in problem.graph.types], dtype=np.float64)
        weight = np.bincount(problem.partition.group_of, weights=computing, minlength=n)
        ends = np.sort(unit_of[problem.quotient.edges], axis=0)
        return cls(
            unit_of=unit_of,
            members=tuple(tuple(np.flatnonzero(of_op == unit).tolist()) for unit in range(n_units)),
            allowed=allowed,
            weight=np.maximum(weight, 1.0),
            pairs=np.unique(ends[:, ends[0] != ends[1]], axis=1),
        )

    def part(self, task: Task) -> tuple[int, ...]:
        """Return the operations of a task's part."""
        return tuple(sorted(op for unit in task.units for op in self.members[unit]))

    def singles(self) -> list[Task]:
        """Return each unit on each device that can run it; the devices of a unit stand side by side."""
        return [Task((int(u),), int(d)) for u, d in np.argwhere(self.allowed)]

    def neighbours(self, unit_ms: FloatArray) -> list[Task]:
        """Return the pairs to time, the most telling first.

        Args:
            unit_ms: time of each unit on each device, `[U, D]`, not finite where it failed.
        """
        fastest = np.min(unit_ms, axis=1, initial=np.inf, where=np.isfinite(unit_ms), keepdims=True)
        with np.errstate(invalid="ignore"):  # infinite over infinite: such a unit has no pair
            ratio = unit_ms / fastest
        ranked = []
        for a, b in self.pairs.T.tolist():
            for d in np.flatnonzero(np.isfinite(unit_ms[a] + unit_ms[b])).tolist():
                worst = max(ratio[a, d], ratio[b, d])
                rank = 0 if worst <= 1 else 1 if worst <= COMPETITIVE else 2
                ranked.append((rank, -min(unit_ms[a, d], unit_ms[b, d]), a, b, d))
        return [Task((a, b), d) for _, _, a, b, d in sorted(ranked)]


@dataclass
class Times:
    """What was measured of each task, net of what timing a part alone adds.

    Attributes:
        ms: `(low, median, high)` of the samples of a task; infinite where the part failed.
    """

    ms: dict[Task, tuple[float, float, float]] = field(default_factory=dict)

    def median(self, task: Task) -> float:
        """Return the median of a task, NaN where it was not measured."""
        return self.ms[task][1] if task in self.ms else float("nan")

    def units(self, layout: Layout) -> FloatArray:
        """Return the time of each unit on each device, `[U, D]`: infinite where it failed, NaN where unknown."""
        u, d = layout.allowed.shape
        return np.array([[self.median(Task((i,), j)) for j in range(d)] for i in range(u)]).reshape(u, d)


def _stretches(problem: Problem, most: int) -> IntArray:
    """Return the unit of each group, `[G]`: stretches of the group order, whose groups run on the same devices."""
    order, n = problem.group_order, problem.n_groups
    stretch = np.arange(n) * min(n, most) // n
    rows = problem.allowed[order]
    begins = (np.diff(stretch) > 0) | (rows[1:] != rows[:-1]).any(axis=1)
    unit_of = np.empty(n, dtype=np.int64)
    unit_of[order] = np.concatenate([[0], np.cumsum(begins)])
    return unit_of


def assemble(problem: Problem, layout: Layout, times: Times, links: Links, whole_ms: FloatArray) -> CostTable:
    """Return the cost table, calibrated on the latencies of the whole model.

    Args:
        problem: the problem.
        layout: its units.
        times: what was measured.
        links: transfers and overheads.
        whole_ms: latency of the whole model on each device, not finite where it does not run, `[D]`.
    """
    unit_ms = _known(times.units(layout), layout, whole_ms)
    saved, relative = _savings(layout, times, unit_ms)
    group_ms, saving_ms = _of_groups(problem, layout, unit_ms, saved, relative)
    table = CostTable(
        traffic=Traffic.between(problem.graph, problem.partition),
        edges=problem.quotient.edges,
        group_ms=group_ms,
        saving_ms=saving_ms,
        latency_ms=links.latency_ms,
        ms_per_byte=links.ms_per_byte,
        submodel_ms=links.submodel_ms,
        group_bytes=_weights(problem.graph, problem.partition.group_of, problem.n_groups),
        memory_bytes=np.full(len(problem.devices), np.inf),
        source="measured here",
    )
    return calibrated(table, whole_ms)


def calibrated(table: CostTable, whole_ms: FloatArray) -> CostTable:
    """Return the table scaled so that the placement of all groups on a device takes `whole_ms[device]`, `[D]`.

    Savings are scaled first, within bounds, since they are differences of large numbers; then the groups, by one
    factor a device. No placement costs less than nothing: the savings at a group stay below twice its own time.
    """
    group_ms, saving_ms = np.array(table.group_ms), np.array(table.saving_ms)
    pieces = len(np.unique(lowest_connected(table.n_groups, table.edges)))  # submodels of a single device
    for d in range(table.n_devices):
        work = group_ms[:, d].sum()
        target = whole_ms[d] - pieces * table.submodel_ms[d]
        if not np.isfinite(work) or not np.isfinite(whole_ms[d]) or work <= 0:
            saving_ms[:, d] = _bounded(table.edges, group_ms[:, d], saving_ms[:, d])
            continue
        target = max(target, 0.1 * whole_ms[d])
        scale = _scale(table.edges, group_ms[:, d], saving_ms[:, d], work - target)
        saving_ms[:, d] = _bounded(table.edges, group_ms[:, d], scale * saving_ms[:, d])
        factor = target / (work - saving_ms[:, d].sum())
        group_ms[:, d] *= factor
        saving_ms[:, d] *= factor
    return replace(table, group_ms=group_ms, saving_ms=saving_ms)


def _scale(edges: IntArray, group_ms: FloatArray, saving_ms: FloatArray, wanted_ms: float) -> float:
    """Return the factor with which savings come nearest to `wanted_ms` in sum, by bisection."""
    low, high = 0.0, _MOST_SAVED
    for _ in range(40):
        middle = (low + high) / 2
        if _bounded(edges, group_ms, middle * saving_ms).sum() < wanted_ms:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _bounded(edges: IntArray, group_ms: FloatArray, saving_ms: FloatArray) -> FloatArray:
    """Return savings `[Q]` of which half of those at each group sum to 95 % of its time at most."""
    halves = np.bincount(edges.reshape(-1), np.tile(saving_ms, 2) / 2, minlength=len(group_ms))
    room = np.minimum(1.0, np.divide(0.95 * group_ms, halves, out=np.ones_like(group_ms), where=halves > 0))
    return np.asarray(saving_ms * np.minimum(room[edges[0]], room[edges[1]]))


def _known(unit_ms: FloatArray, layout: Layout, whole_ms: FloatArray) -> FloatArray:
    """Return times with a share of the whole model's, by operations, where units were not timed or failed everywhere.

    A unit that failed on some devices keeps its infinite cost there.
    """
    weight = np.bincount(layout.unit_of, weights=layout.weight)
    whole = np.where(np.isfinite(whole_ms), whole_ms, np.min(whole_ms))
    share = np.outer(weight / weight.sum(), whole)
    filled = np.where(np.isnan(unit_ms), share, unit_ms)
    nowhere = ~np.isfinite(np.where(layout.allowed, filled, np.inf)).any(axis=1, keepdims=True)
    return np.asarray(np.where(layout.allowed, np.where(nowhere, share, filled), np.inf))


def _savings(layout: Layout, times: Times, unit_ms: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return what each pair saves on each device, `[P, D]`, and the median of saving over smaller unit, `[D]`."""
    ends = np.stack([unit_ms[layout.pairs[0]], unit_ms[layout.pairs[1]]])
    smaller = np.where(np.isfinite(ends).all(axis=0), ends.min(axis=0), 0.0)
    together = np.array(
        [
            [times.median(Task((a, b), d)) for d in range(unit_ms.shape[1])]
            for a, b in zip(*layout.pairs.tolist(), strict=True)
        ]
    ).reshape(smaller.shape)
    with np.errstate(invalid="ignore"):
        saved = np.clip(ends.sum(axis=0) - together, 0.0, smaller)  # a pair that failed saves nothing
        relative = np.array([_median(saved[:, d] / smaller[:, d], smaller[:, d] > 0) for d in range(unit_ms.shape[1])])
    return np.where(np.isfinite(saved), saved, relative * smaller), relative


def _median(values: FloatArray, where: BoolArray) -> float:
    chosen = values[where & np.isfinite(values)]
    return float(np.median(chosen)) if len(chosen) else 0.0


def _of_groups(
    problem: Problem, layout: Layout, unit_ms: FloatArray, saved: FloatArray, relative: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the times of groups `[G, D]` and the savings of edges `[Q, D]`; those of a unit sum to its time."""
    unit, edges = layout.unit_of, problem.quotient.edges
    total = np.bincount(unit, weights=layout.weight)
    group_ms = unit_ms[unit] * (layout.weight / total[unit])[:, None]
    ends = np.sort(unit[edges], axis=0)
    inside = ends[0] == ends[1]
    smaller = np.minimum(group_ms[edges[0]], group_ms[edges[1]])
    saving_ms = relative * np.where(inside[:, None] & np.isfinite(smaller), smaller, 0.0)
    for d in range(unit_ms.shape[1]):
        saving_ms[:, d] = _bounded(edges, group_ms[:, d], saving_ms[:, d])
        lost = np.bincount(ends[0][inside], saving_ms[inside, d], minlength=len(unit_ms))
        factor = np.divide(unit_ms[:, d], unit_ms[:, d] - lost, out=np.ones(len(unit_ms)), where=lost > 0)
        group_ms[:, d] *= factor[unit]
        saving_ms[:, d] *= factor[ends[0]]
    if layout.pairs.shape[1]:
        n = len(unit_ms)
        position = np.searchsorted(layout.pairs[0] * n + layout.pairs[1], ends[0] * n + ends[1])
        position = np.minimum(position, layout.pairs.shape[1] - 1)
        shared = np.bincount(position[~inside], minlength=layout.pairs.shape[1])
        saving_ms[~inside] = (saved[position] / np.maximum(shared[position], 1)[:, None])[~inside]
    return np.where(problem.allowed, group_ms, np.inf), saving_ms


def _weights(graph: OpGraph, group_of: IntArray, n_groups: int) -> FloatArray:
    """Return the bytes of Constants that the operations of each group read, `[G]`."""
    constant = np.array([kind == "Constant" for kind in graph.types], dtype=bool)
    from_constant = constant[graph.edges[0]]
    rows = np.stack([group_of[graph.edges[1]], graph.edges[0]])[:, from_constant]
    _, first = np.unique(rows, axis=1, return_index=True)
    sizes = graph.out_bytes[from_constant][first].astype(np.float64)
    return np.bincount(rows[0, first], weights=sizes, minlength=n_groups).astype(np.float64)
