"""Local descent under the full cost model, with the overhead of submodels that pairwise solvers leave out."""

from __future__ import annotations

import numpy as np

from ovplace.core.cost_table import CostTable
from ovplace.cost.evaluate.latency import latency_ms, pairwise_ms
from ovplace.cost.evaluate.submodel_counts import submodels_of_groups
from ovplace.graphs.op_graph import FloatArray, IntArray

_LEAST_GAIN = 1e-9
_MOST_MOVES = 100


def local_descent(table: CostTable, device_of: IntArray) -> IntArray:
    """Return the placement `[G]` after moving single groups or whole submodels for as long as the full model falls.

    Args:
        table: the costs.
        device_of: the first placement, `[G]`; if it does not fit into memory, any move to one that does is taken.
    """
    best = device_of
    value = float(latency_ms(table, best[None])[0]) if table.fits(best[None])[0] else np.inf
    for _ in range(_MOST_MOVES):
        options = moves(table, best)
        options = options[table.fits(options) & (_bound_ms(table, options) < value - _LEAST_GAIN)]
        values = latency_ms(table, options)
        if not values.min(initial=np.inf) < value - _LEAST_GAIN:
            break
        best, value = options[values.argmin()], float(values.min())
    return best


def _bound_ms(table: CostTable, device_of: IntArray) -> FloatArray:
    """Return a lower bound on the latency of placements `[B, G]`, `[B]`: each device in use runs a submodel.

    Counting submodels takes nine tenths of the full model's time, and this spares most moves of it.
    """
    used = np.stack([(device_of == device).any(axis=1) for device in range(table.n_devices)], axis=1)
    return np.asarray(pairwise_ms(table, device_of) + used @ table.submodel_ms)


def moves(table: CostTable, device_of: IntArray) -> IntArray:
    """Return every placement that differs by the device of one group or of one submodel, `[M, G]`.

    Args:
        table: the costs.
        device_of: device of each group, `[G]`.
    """
    groups = np.arange(table.n_groups)
    regions = submodels_of_groups(table.n_groups, table.edges, device_of[None])[0]
    moved = np.concatenate([groups[:, None] == groups, np.unique(regions)[:, None] == regions])
    return np.concatenate([np.where(moved, device, device_of) for device in range(table.n_devices)])
