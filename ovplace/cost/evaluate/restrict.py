"""The costs of a part of a model as a model of its own."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ovplace.core.cost_table import CostTable
from ovplace.core.traffic import Traffic
from ovplace.graphs.op_graph import IntArray


def restrict(table: CostTable, groups: IntArray) -> CostTable:
    """Return the cost table of some groups as a model of their own, in their order; their inputs cost nothing.

    Args:
        table: the costs of the whole model.
        groups: distinct groups, `[P]`.
    """
    position = np.full(table.n_groups, -1, dtype=np.int64)
    position[groups] = np.arange(len(groups))
    inside = (position[table.edges] >= 0).all(axis=0)
    tensors, traffic = _traffic(table.traffic, position)
    kept = {"G": groups, "Q": np.flatnonzero(inside), "T": tensors}
    arrays: dict[str, Any] = {
        name: getattr(table, name)[kept[axes[0]]] for name, axes in table.axes().items() if axes[0] in kept
    }
    return replace(table, traffic=traffic, edges=position[table.edges[:, inside]], **arrays)


def _traffic(traffic: Traffic, position: IntArray) -> tuple[IntArray, Traffic]:
    """Return the tensors that pass between groups of the part, `[T]`, and the part's traffic."""
    tensor = traffic.tensor_of
    kept = np.flatnonzero((position[traffic.source[tensor]] >= 0) & (position[traffic.readers] >= 0))
    used, starts = np.unique(tensor[kept], return_index=True)
    part = Traffic(position[traffic.source[used]], traffic.n_bytes[used], starts, position[traffic.readers[kept]])
    return used, part
