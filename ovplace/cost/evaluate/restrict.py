"""The costs of a part of a model, alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ovplace.core.cost_table import CostTable, Traffic
from ovplace.graphs.op_graph import IntArray


def restricted(table: CostTable, groups: IntArray) -> CostTable:
    """Return the cost table of some groups as a model of their own, in their order; what they read is there already.

    Args:
        table: of the whole model.
        groups: distinct groups, `[P]`.
    """
    position = np.full(table.n_groups, -1, dtype=np.int64)
    position[groups] = np.arange(len(groups))
    inside = (position[table.edges] >= 0).all(axis=0)
    return replace(
        table,
        traffic=_restricted_traffic(table.traffic, position),
        edges=position[table.edges[:, inside]],
        group_ms=table.group_ms[groups],
        saving_ms=table.saving_ms[inside],
        group_bytes=table.group_bytes[groups],
    )


def _restricted_traffic(traffic: Traffic, position: IntArray) -> Traffic:
    tensor = traffic.tensor_of
    kept = np.flatnonzero((position[traffic.source[tensor]] >= 0) & (position[traffic.readers] >= 0))
    used, starts = np.unique(tensor[kept], return_index=True)
    return Traffic(position[traffic.source[used]], traffic.n_bytes[used], starts, position[traffic.readers[kept]])
