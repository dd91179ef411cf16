"""The parts of a model that are timed on each device to learn the costs of its groups."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from ovplace.core.partition import Partition
from ovplace.core.problem import Problem
from ovplace.graphs.op_graph import BoolArray, FloatArray, IntArray
from ovplace.graphs.work import KERNEL_MS, expected_ms

COMPETITIVE = 2.0
"""Pairs of groups within this factor of their fastest devices are timed early: they may well run there."""


@dataclass(frozen=True)
class PartTask:
    """A part to time on a device.

    Attributes:
        units: units of the part: one, or two neighbours, ascending.
        device: index of the device.
    """

    units: tuple[int, ...]
    device: int


@dataclass(frozen=True, eq=False)
class PartLayout:
    """The units of a model that are timed: groups, or stretches of groups where there are too many of them.

    Attributes:
        unit_of: unit of each group, `[G]`.
        members: operations of each unit, `[U]` tuples.
        allowed: whether each device can run each unit, `[U, D]`.
        weight: about how long each group takes, for use as proportions; positive, `[G]`.
        pairs: neighbouring units, ascending, `[2, P]`.
    """

    unit_of: IntArray
    members: tuple[tuple[int, ...], ...]
    allowed: BoolArray
    weight: FloatArray
    pairs: IntArray

    @classmethod
    def of(cls, problem: Problem, most_units: int) -> PartLayout:
        """Return the layout of a problem.

        Args:
            problem: the groups to place.
            most_units: about the largest number of units.
        """
        return cls.of_units(problem, _stretches(problem, most_units))

    @classmethod
    def of_units(cls, problem: Problem, unit_of: IntArray) -> PartLayout:
        """Return the layout of a problem in given units.

        Args:
            problem: the groups to place.
            unit_of: unit of each group, `[G]`; groups of a unit run on the same devices.
        """
        units = Partition(unit_of)
        ends = np.sort(unit_of[problem.quotient.edges], axis=0)
        return cls(
            unit_of=unit_of,
            members=tuple(tuple(ops.tolist()) for ops in problem.partition.then(units).members),
            allowed=units.every(problem.allowed),
            weight=_weight(problem),
            pairs=np.unique(ends[:, ends[0] != ends[1]], axis=1),
        )

    @cached_property
    def unit_weight(self) -> FloatArray:
        """Sum of the weights of each unit's groups, `[U]`."""
        return np.bincount(self.unit_of, weights=self.weight).astype(np.float64)

    def part(self, task: PartTask) -> tuple[int, ...]:
        """Return the operations of a task's part."""
        return tuple(sorted(op for unit in task.units for op in self.members[unit]))

    def singles(self) -> list[PartTask]:
        """Return each unit on each device that can run it, unit by unit."""
        return [PartTask((int(u),), int(d)) for u, d in np.argwhere(self.allowed)]

    def neighbours(self, unit_ms: FloatArray) -> list[PartTask]:
        """Return the pairs of neighbours to time, the most informative first.

        Args:
            unit_ms: time of each unit on each device in ms, `[U, D]`; not finite where it failed.
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
        return [PartTask((a, b), d) for _, _, a, b, d in sorted(ranked)]


@dataclass
class PartTimes:
    """The measured time of each task.

    Attributes:
        ms: `(low, median, high)` of the samples of a task in ms; infinite where the part failed.
    """

    ms: dict[PartTask, tuple[float, float, float]] = field(default_factory=dict)

    def without(self, alone_ms: FloatArray) -> PartTimes:
        """Return the times less the overhead of timing a part by itself.

        What is left is work: an empty part would still be called, and its tensors handed over.

        Args:
            alone_ms: that overhead on each device, `[D]`.
        """
        return PartTimes({task: _net(ms, float(alone_ms[task.device])) for task, ms in self.ms.items()})

    def median(self, task: PartTask) -> float:
        """Return the median of a task, NaN where it was not measured."""
        return self.ms[task][1] if task in self.ms else float("nan")

    def units(self, layout: PartLayout) -> FloatArray:
        """Return the time of each unit on each device, ms `[U, D]`: infinite where it failed, NaN where unknown."""
        u, d = layout.allowed.shape
        return np.array([[self.median(PartTask((i,), j)) for j in range(d)] for i in range(u)]).reshape(u, d)


def _net(ms: tuple[float, float, float], alone_ms: float) -> tuple[float, float, float]:
    low, median, high = (max(one - alone_ms, 0.02 * one) for one in ms)
    return low, median, high


def _weight(problem: Problem) -> FloatArray:
    ms = np.bincount(problem.partition.group_of, expected_ms(problem.graph), minlength=problem.n_groups)
    return np.maximum(ms, KERNEL_MS)  # a group that runs no kernel must not have a share of nothing


def _stretches(problem: Problem, most: int) -> IntArray:
    """Return the unit of each group, `[G]`: stretches of the group order, whose groups run on the same devices.

    Where groups have to share units, light ones do: stretches have about equal sums of the roots of weights.
    """
    order, n = problem.group_order, problem.n_groups
    stretch = np.arange(n)
    if n > most:
        root = np.sqrt(_weight(problem)[order])
        stretch = ((np.cumsum(root) - root / 2) / root.sum() * most).astype(np.int64)
    rows = problem.allowed[order]
    begins = (np.diff(stretch) > 0) | (rows[1:] != rows[:-1]).any(axis=1)
    unit_of = np.empty(n, dtype=np.int64)
    unit_of[order] = np.concatenate([[0], np.cumsum(begins)])
    return unit_of
