"""The best placement of a chain of units under the full model, by dynamic programming.

A model is cut into units after each group that alone is read behind it; a group on a path is a unit of its own. What a
unit costs depends on its device and on that of the unit before, and on nothing else, overhead of submodels included,
so that one pass over the units finds the best of all placements that keep the units whole.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from ovplace.core.certificate import FULL, Certificate
from ovplace.core.cost_table import CostTable
from ovplace.core.integer_labels import sums_by_label
from ovplace.cost.evaluate.folding import folded, left_out
from ovplace.cost.evaluate.latency import latency_ms
from ovplace.cost.solvers.min_cut import full_bound_ms, solve_min_cut
from ovplace.cost.solvers.simple_bound import simple_bound_ms
from ovplace.cost.solvers.solution import Solution
from ovplace.errors import PlacementError
from ovplace.graphs.dag import component_rank, connected_labels
from ovplace.graphs.op_graph import BoolArray, FloatArray, IntArray

_LEAVES_OUT = "memory limits"


@dataclass(frozen=True, eq=False)
class _Steps:
    """The costs of a chain of U units.

    Attributes:
        unit_ms: each unit on each device, as if the unit before were elsewhere and sent nothing, `[U, D]`.
        change_ms: further cost of each unit, device of the unit before by its own, `[U, D, D]`.
    """

    unit_ms: FloatArray
    change_ms: FloatArray


def solve_chain(table: CostTable) -> Solution:
    """Return a placement with the lowest `latency_ms` of those that keep the units of a chain whole.

    Where each unit is one group the certificate proves the optimum of all placements, memory limits left out. Elsewhere
    its bound is of all placements, and it says that units were kept whole.

    Raises:
        PlacementError: some unit has no device on which all its groups can run.

    Cost: O(G + Q + U D^2).
    """
    start = time.perf_counter()
    unsolved = ", ".join((_LEAVES_OUT, *left_out(table)))
    table = folded(table)
    unit_of = units(table)
    steps = _steps(table, unit_of)
    _check(steps, unit_of)
    device_of = _best(steps)[unit_of]
    value = float(latency_ms(table, device_of[None])[0])
    count = len(steps.unit_ms)
    exact = count == table.n_groups
    bound = value if exact else min(value, _bound_ms(table))
    text = unsolved if exact else f"{unsolved}; {table.n_groups} groups kept together in {count} units"
    return Solution(device_of, Certificate("dp", FULL, value, bound, time.perf_counter() - start, text))


def units(table: CostTable) -> IntArray:
    """Return the unit of each group, numbered along the chain, `[G]`.

    In topological order, a cut stands after each group behind which nothing written before it is read: no edge passes
    two cuts. Groups on a cycle are in one unit.
    """
    edges = np.hstack([table.edges, table.traffic.pairs])
    rank = component_rank(table.n_groups, edges)
    n = int(rank.max(initial=-1)) + 1
    reach = np.arange(n)
    np.maximum.at(reach, *rank[edges])
    before = np.concatenate([[-1], np.maximum.accumulate(reach)])[:n]  # the last reader of what stands before each
    cut = (before <= np.arange(n)).astype(np.int64)
    return np.asarray((np.cumsum(cut) - cut)[rank], dtype=np.int64)


def _steps(table: CostTable, unit_of: IntArray) -> _Steps:
    count, d = int(unit_of.max(initial=-1)) + 1, table.n_devices
    source, target = unit_of[table.edges]
    inside = source == target
    unit = np.zeros((count, d))
    np.add.at(unit, unit_of, table.group_ms)
    np.add.at(unit, source[inside], -table.saving_ms[inside])
    parts, joined = _parts(table, unit_of, inside)
    overhead = parts[:, None] * table.submodel_ms
    tensors, readers = _crossing(table, unit_of)
    change = sums_by_label(readers, table.transfer_ms()[tensors], count)
    same = sums_by_label(target[~inside], table.saving_ms[~inside], count)
    change[:, np.arange(d), np.arange(d)] -= same + joined[:, None] * table.submodel_ms
    return _Steps(unit + overhead, change)


def _parts(table: CostTable, unit_of: IntArray, inside: BoolArray) -> tuple[IntArray, IntArray]:
    """Return the connected parts of each unit, and how many of them hang on the unit before, `[U]` each."""
    count = int(unit_of.max(initial=-1)) + 1
    label = connected_labels(table.n_groups, table.edges[:, inside])
    unit_of_part = np.zeros(label.max(initial=-1) + 1, dtype=np.int64)
    unit_of_part[label] = unit_of
    hanging = np.unique(label[table.edges[1, ~inside]])
    parts = np.bincount(unit_of_part, minlength=count)
    return parts.astype(np.int64), np.bincount(unit_of_part[hanging], minlength=count).astype(np.int64)


def _crossing(table: CostTable, unit_of: IntArray) -> tuple[IntArray, IntArray]:
    """Return the tensors that one unit passes to the next, once each, and the reading units."""
    tensor, reader = table.traffic.tensor_of, unit_of[table.traffic.readers]
    leaving = unit_of[table.traffic.source[tensor]] != reader
    tensors, first = np.unique(tensor[leaving], return_index=True)
    return tensors, reader[leaving][first]


def _check(steps: _Steps, unit_of: IntArray) -> None:
    stranded = np.flatnonzero(~np.isfinite(steps.unit_ms).any(axis=1))
    if len(stranded):
        groups = np.flatnonzero(unit_of == stranded[0])
        raise PlacementError(
            f"no device can run all of the {len(groups)} groups {groups.min()} to {groups.max()}, which the placer "
            "'dp' keeps together; use the placer 'min_cut'"
        )


def _best(steps: _Steps) -> IntArray:
    """Return the device of each unit, `[U]`."""
    total = np.zeros(steps.unit_ms.shape[1])
    came_from = []
    for unit, change in zip(steps.unit_ms, steps.change_ms, strict=True):
        options = total[:, None] + change
        came_from.append(options.argmin(axis=0))
        total = options.min(axis=0) + unit
    device = int(total.argmin()) if came_from else 0
    chosen = []
    for previous in reversed(came_from):
        chosen.append(device)
        device = int(previous[device])
    return np.array(chosen[::-1], dtype=np.int64)


def _bound_ms(table: CostTable) -> float:
    """Return what no placement goes below under the full model."""
    if table.n_devices == 2:
        return full_bound_ms(table, solve_min_cut(table).certificate.lower_bound_ms)
    return full_bound_ms(table, simple_bound_ms(table))
