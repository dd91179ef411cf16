"""The full cost model as a matrix product: what each parameter of a table counts for in each placement.

`latency_ms` is linear in the table's numbers, so that `terms(table, device_of) @ parameters(table)` is the same; this
is the form in which measurements can correct them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ovplace.core.cost_table import CostTable
from ovplace.cost.evaluate.submodel_counts import submodel_counts
from ovplace.graphs.op_graph import BoolArray, FloatArray, IntArray

FITTED = ("group_ms", "saving_ms", "latency_ms", "ms_per_byte", "submodel_ms")
"""The arrays of a table that are parameters, in the order of the parameter vector."""


def terms(table: CostTable, device_of: IntArray) -> FloatArray:
    """Return how often each parameter counts in each placement, `[B, P]`; savings count negatively.

    Args:
        table: the costs of G groups on D devices; its numbers do not matter, except which groups can run where.
        device_of: device of each group under each placement, `[B, G]`; each group where it can run.
    """
    devices = np.arange(table.n_devices)
    count, n_bytes = _crossings(table, device_of)
    source, target = device_of[:, table.edges[0], None], device_of[:, table.edges[1], None]
    per_array = {
        "group_ms": device_of[:, :, None] == devices,
        "saving_ms": -1.0 * ((source == devices) & (target == devices)),
        "latency_ms": count,
        "ms_per_byte": n_bytes,
        "submodel_ms": submodel_counts(table.n_groups, table.edges, device_of, table.n_devices),
    }
    return np.concatenate([per_array[name][:, kept] for name, kept in where(table).items()], axis=1).astype(np.float64)


def parameters(table: CostTable) -> FloatArray:
    """Return the parameters of a table, `[P]`: finite group times, savings, links, overheads of submodels."""
    return np.concatenate([getattr(table, name)[kept] for name, kept in where(table).items()])


def with_parameters(table: CostTable, vector: FloatArray) -> CostTable:
    """Return the table with other parameters.

    Args:
        table: what all else is taken from.
        vector: parameters as `parameters` returns them, `[P]`; not negative.
    """
    changed: dict[str, Any] = {}
    start = 0
    for name, kept in where(table).items():
        array, end = np.array(getattr(table, name)), start + int(kept.sum())
        array[kept] = vector[start:end]
        changed[name], start = array, end
    if start != len(vector):
        raise ValueError(f"expected {start} parameters, got {len(vector)}")
    return replace(table, **changed)


def where(table: CostTable) -> Mapping[str, BoolArray]:
    """Return which entries of each array of the table are parameters: no infinite times, no link to oneself."""
    found = {name: np.ones(np.shape(getattr(table, name)), dtype=bool) for name in FITTED}
    found["group_ms"] = np.isfinite(table.group_ms)
    found["latency_ms"] = found["ms_per_byte"] = ~np.eye(table.n_devices, dtype=bool)
    return found


def _crossings(table: CostTable, device_of: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return the tensors that cross from each device to each other one, and their bytes, `[B, D, D]` each.

    A tensor crosses once to a device, however many groups read it there.
    """
    traffic, d = table.traffic, table.n_devices
    count, n_bytes = np.zeros((2, len(device_of), d, d))
    if not len(traffic.source):
        return count, n_bytes
    home, readers = device_of[:, traffic.source], device_of[:, traffic.readers]
    for target in range(d):
        wanted = np.logical_or.reduceat(readers == target, traffic.starts, axis=1)
        for source in range(d):
            crossing = wanted & (home == source)
            count[:, source, target] = crossing.sum(axis=1)
            n_bytes[:, source, target] = crossing @ traffic.n_bytes
    return count, n_bytes
