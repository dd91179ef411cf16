"""Scaling a cost table so that single devices take as long as the whole model was measured to take there."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ovplace.core.cost_table import CostTable
from ovplace.graphs.dag import lowest_connected
from ovplace.graphs.op_graph import FloatArray, IntArray

_MOST_SAVED = 3.0
"""Largest factor on savings; what is still missing then is a factor on the times of groups."""


def calibrate(table: CostTable, whole_ms: FloatArray) -> CostTable:
    """Return the table scaled so that its uniform placements take as long as the whole model was measured to take.

    Savings are scaled first, within bounds, since they are differences of large numbers; then the groups, by one
    factor a device. No placement costs less than nothing: the savings at a group stay below twice its own time.

    Args:
        table: the costs of the groups.
        whole_ms: latency of the whole model on each device in ms, `[D]`; not finite where it does not run.
    """
    group_ms, saving_ms = np.array(table.group_ms), np.array(table.saving_ms)
    pieces = len(np.unique(lowest_connected(table.n_groups, table.edges)))  # submodels of a single device
    for d in range(table.n_devices):
        work = group_ms[:, d].sum()
        if not np.isfinite(work) or not np.isfinite(whole_ms[d]) or work <= 0:
            saving_ms[:, d] = bounded_savings(table.edges, group_ms[:, d], saving_ms[:, d])
            continue
        target = max(whole_ms[d] - pieces * table.submodel_ms[d], 0.1 * whole_ms[d])
        scale = _scale(table.edges, group_ms[:, d], saving_ms[:, d], work - target)
        saving_ms[:, d] = bounded_savings(table.edges, group_ms[:, d], scale * saving_ms[:, d])
        factor = target / (work - saving_ms[:, d].sum())
        group_ms[:, d] *= factor
        saving_ms[:, d] *= factor
    return replace(table, group_ms=group_ms, saving_ms=saving_ms)


def bounded_savings(edges: IntArray, group_ms: FloatArray, saving_ms: FloatArray) -> FloatArray:
    """Return savings on a device, reduced where they exceed 95 % of a group's time; each end bears half of a saving.

    Args:
        edges: pairs of neighbouring groups, `[2, Q]`.
        group_ms: time of each group, `[G]`.
        saving_ms: saving of each edge, `[Q]`.

    Returns:
        The reduced savings, `[Q]`.
    """
    halves = np.bincount(edges.reshape(-1), np.tile(saving_ms, 2) / 2, minlength=len(group_ms))
    room = np.minimum(1.0, np.divide(0.95 * group_ms, halves, out=np.ones_like(group_ms), where=halves > 0))
    return np.asarray(saving_ms * np.minimum(room[edges[0]], room[edges[1]]))


def _scale(edges: IntArray, group_ms: FloatArray, saving_ms: FloatArray, wanted_ms: float) -> float:
    """Return the factor with which savings come nearest to `wanted_ms` in sum, by bisection."""
    low, high = 0.0, _MOST_SAVED
    for _ in range(40):
        middle = (low + high) / 2
        if bounded_savings(edges, group_ms, middle * saving_ms).sum() < wanted_ms:
            low = middle
        else:
            high = middle
    return (low + high) / 2
