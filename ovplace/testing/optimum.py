"""Optimum of a cost table by trying every placement, the oracle of all solvers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ovplace.core.cost_table import CostTable
from ovplace.graphs.op_graph import FloatArray, IntArray

Evaluate = Callable[[CostTable, IntArray], FloatArray]


def every_choice(table: CostTable) -> IntArray:
    """Return every placement in which each group can run and each device's memory suffices, `[B, G]`."""
    choices = np.indices((table.n_devices,) * table.n_groups).reshape(table.n_groups, -1).T
    runs = np.isfinite(table.group_ms[np.arange(table.n_groups), choices]).all(axis=1)
    used = [(table.group_bytes * (choices == device)).sum(axis=1) for device in range(table.n_devices)]
    fits = (np.stack(used, axis=1) <= table.memory_bytes).all(axis=1)
    return np.asarray(choices[runs & fits], dtype=np.int64)


def optimum(table: CostTable, evaluate: Evaluate) -> float:
    """Return the lowest value of all placements, ms; infinite if no placement is possible.

    Args:
        table: the costs.
        evaluate: function of the table and placements `[B, G]` that returns values `[B]`.
    """
    return float(evaluate(table, every_choice(table)).min(initial=np.inf))
