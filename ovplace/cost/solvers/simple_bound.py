"""A bound on the latency of all placements that needs no solver."""

from __future__ import annotations

from ovplace.core.cost_table import CostTable


def simple_bound_ms(table: CostTable) -> float:
    """Return what no placement goes below, ms: each group on its fastest device, nothing passed on, all savings had.

    It is negative where a fitted model saves more than the groups take; such a model may cost less than nothing.

    Args:
        table: the costs.
    """
    fastest_ms = float(table.group_ms.min(axis=1).sum())
    return fastest_ms - float(table.saving_ms.max(axis=1, initial=0.0).sum())
