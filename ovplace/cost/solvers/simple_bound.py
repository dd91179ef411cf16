"""A bound on the latency of all placements that needs no solver."""

from __future__ import annotations

from ovplace.core.cost_table import CostTable


def simple_bound_ms(table: CostTable) -> float:
    """Return what no placement goes below, ms: each group on its fastest device, nothing passed on, all savings had.

    Args:
        table: the costs.
    """
    fastest_ms = float(table.group_ms.min(axis=1).sum())
    return max(0.0, fastest_ms - float(table.saving_ms.max(axis=1, initial=0.0).sum()))
