"""Local descent under the full cost model, with the overhead of submodels that pairwise solvers leave out."""

from __future__ import annotations

import numpy as np

from ovplace.core.cost_table import CostTable
from ovplace.cost.evaluate.latency import latency_ms, pairwise_ms
from ovplace.cost.evaluate.submodel_counts import submodels_of_groups
from ovplace.graphs.dag import lowest_connected
from ovplace.graphs.op_graph import FloatArray, IntArray

_LEAST_GAIN = 1e-9
_MOST_MOVES = 100
_AT_ONCE = 256
"""Moves evaluated before one is made: nearly all of 96 groups on two devices; all of 456 groups take two seconds."""


def local_descent(table: CostTable, device_of: IntArray) -> IntArray:
    """Return the placement `[G]` after moving single groups or whole submodels while the full model falls.

    Each move is the best of the most promising ones, of the others where none of these helps; after a hundred no more
    are made.

    Args:
        table: the costs.
        device_of: the first placement, `[G]`; if it does not fit into memory, any move to one that does is taken.
    """
    best = device_of
    value = float(latency_ms(table, best[None])[0]) if table.fits(best[None])[0] else np.inf
    for _ in range(_MOST_MOVES):
        found = _best_move(table, best, value - _LEAST_GAIN)
        if found is None:
            break
        best, value = found
    return best


def _best_move(table: CostTable, device_of: IntArray, below_ms: float) -> tuple[IntArray, float] | None:
    """Return the placement `[G]` after the best move, and its latency in ms; None where no move goes below a limit."""
    options = moves(table, device_of)
    bound_ms = np.where(table.fits(options), _bound_ms(table, device_of, options), np.inf)
    promising = np.argsort(bound_ms, kind="stable")[: np.count_nonzero(bound_ms < below_ms)]
    for start in range(0, len(promising), _AT_ONCE):
        some = options[np.sort(promising[start : start + _AT_ONCE])]
        values = latency_ms(table, some)
        if values.min() < below_ms:
            return some[values.argmin()], float(values.min())
    return None


def moves(table: CostTable, device_of: IntArray) -> IntArray:
    """Return every placement that differs by the device of one group or of one submodel, `[M, G]`.

    Args:
        table: the costs.
        device_of: device of each group, `[G]`.
    """
    moved = np.concatenate([np.unique(unit)[:, None] == unit for unit in _units(table, device_of)])
    return np.concatenate([np.where(moved, device, device_of) for device in range(table.n_devices)])


def _units(table: CostTable, device_of: IntArray) -> tuple[IntArray, IntArray]:
    """Return what is moved together, a label for each group, `[G]` each: single groups, and submodels."""
    return np.arange(table.n_groups), submodels_of_groups(table.n_groups, table.edges, device_of[None])[0]


def _bound_ms(table: CostTable, device_of: IntArray, options: IntArray) -> FloatArray:
    """Return a lower bound on the latency of the `moves` from a placement, `[M]`: HETERO joins no unconnected groups.

    Counting submodels takes nine tenths of the full model's time, and this spares most moves of it.

    Args:
        table: the costs.
        device_of: the placement, `[G]`.
        options: its moves, `[M, G]`.
    """
    within = device_of[table.edges[0]] == device_of[table.edges[1]]
    region = lowest_connected(table.n_groups, table.edges[:, within])
    now_ms = table.submodel_ms[device_of[np.unique(region)]].sum()
    change_ms = np.concatenate([_change_ms(table, device_of, region, unit) for unit in _units(table, device_of)])
    return np.asarray(pairwise_ms(table, options) + now_ms + change_ms.T.ravel())


def _change_ms(table: CostTable, device_of: IntArray, region: IntArray, unit: IntArray) -> FloatArray:
    """Return the least change of the overhead by moving each of U units to each device, `[U, D]`.

    A unit joins all regions of its new device that it touches, and leaves nothing behind if it was a whole region.

    Args:
        table: the costs.
        device_of: device of each group, `[G]`.
        region: label of the connected region of each group, the lowest group in it, `[G]`.
        unit: label of the unit of each group, the lowest group in it, `[G]`.
    """
    n, units = table.n_groups, np.unique(unit)
    ends = np.concatenate([table.edges, table.edges[::-1]], axis=1)
    touched = np.unique(unit[ends[0]] * n + region[ends[1]])  # a unit and a region
    joined = np.zeros((n, table.n_devices))
    np.add.at(joined, (touched // n, device_of[touched % n]), 1.0)
    is_region = np.bincount(unit, minlength=n)[units] == np.bincount(region, minlength=n)[region[units]]
    leaves_ms = np.where(is_region, table.submodel_ms[device_of[units]], 0.0)
    change_ms = (1.0 - joined[units]) * table.submodel_ms - leaves_ms[:, None]
    change_ms[np.arange(len(units)), device_of[units]] = 0.0  # it stays where it is
    return np.asarray(change_ms)
