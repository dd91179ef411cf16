"""Placements that need no solver, from which solvers start."""

from __future__ import annotations

import numpy as np

from ovplace.core.cost_table import CostTable
from ovplace.graphs.op_graph import IntArray


def simple_placements(table: CostTable) -> IntArray:
    """Return all groups on each device as far as it runs them, then each group where it is fastest, `[D + 1, G]`.

    Groups that a device cannot run are where they are fastest.

    Args:
        table: the costs of G groups on D devices.
    """
    fastest, runs = table.group_ms.argmin(axis=1), np.isfinite(table.group_ms)
    alone = [np.where(runs[:, device], device, fastest) for device in range(table.n_devices)]
    return np.stack([*alone, fastest])
