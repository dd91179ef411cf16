"""The tensors that a placement copies from one device to another."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ovplace.core.cost_table import CostTable
from ovplace.graphs.op_graph import FloatArray, IntArray, OpGraph


@dataclass(frozen=True, eq=False)
class Boundaries:
    """The copied tensors, each once for each device that reads it, in the order of the model, `[C]` each.

    Attributes:
        source: operation that writes the tensor.
        target: the first operation that reads it on the other device.
        readers: how many operations read it there.
        n_bytes: its size.
        devices: device that it comes from and device that it goes to, `[2, C]`.
    """

    source: IntArray
    target: IntArray
    readers: IntArray
    n_bytes: IntArray
    devices: IntArray

    def ms(self, costs: CostTable) -> FloatArray:
        """Return the predicted time of each copy, `[C]`."""
        source, target = self.devices
        return np.asarray(costs.latency_ms[source, target] + self.n_bytes * costs.ms_per_byte[source, target])


def boundaries(graph: OpGraph, device_of: IntArray) -> Boundaries:
    """Return what a placement copies; Constants are no copies, as HETERO puts them into each reader.

    Args:
        graph: the model.
        device_of: device of each operation, `[N]`.
    """
    source, target = graph.edges
    crossing = np.flatnonzero((device_of[source] != device_of[target]) & ~graph.is_constant[source])
    reads = np.stack([source[crossing], graph.ports[0, crossing], target[crossing]])
    crossing = crossing[np.unique(reads, axis=1, return_index=True)[1]]  # an operation may read a tensor twice
    crossing = crossing[np.lexsort((graph.rank[target[crossing]], graph.rank[source[crossing]]))]
    rows = np.stack([source[crossing], graph.ports[0, crossing], device_of[target[crossing]]])
    _, first, count = np.unique(rows, axis=1, return_index=True, return_counts=True)
    order = np.argsort(first)
    at = crossing[first[order]]
    readers = count[order].astype(np.int64)
    return Boundaries(source[at], target[at], readers, graph.out_bytes[at], device_of[graph.edges[:, at]])
