"""Bytes of the tensors that an operation reads and writes, which are transferred if it runs on another device."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ovplace.graphs.op_graph import FloatArray, OpGraph
from ovplace.graphs.work import constant_bytes, tensor_bytes
from ovplace.plugins import protocols

SUMMARY = "bytes of tensors read and written, on a logarithmic scale"

SCALE = 1e9
"""Number of bytes that gives 1."""


@dataclass(frozen=True)
class Config:
    """No settings: the columns have the same meaning for every model."""


class Feature(protocols.Feature):
    """Two columns: bytes read and bytes written."""

    def compute(self, graph: OpGraph) -> FloatArray:
        """Return log(1 + bytes read) and log(1 + bytes written), scaled, `[N, 2]`.

        A tensor counts once for each reader, even if that reads it several times, and once for its writer if it has a
        reader. Constants, and tensors computed from constants alone, do not count as read, because every device has
        them. Not in the HSDAG paper.
        """
        return np.asarray(np.log1p(np.stack([_read(graph), tensor_bytes(graph)], axis=1)) / np.log1p(SCALE))


def _read(graph: OpGraph) -> FloatArray:
    moved = ~np.isin(graph.edges[0], list(constant_bytes(graph)))
    reads = np.stack([*graph.edges, graph.ports[0]])[:, moved]
    tensors, first = np.unique(reads, axis=1, return_index=True)
    total = np.bincount(tensors[1], weights=graph.out_bytes[moved][first], minlength=len(graph))
    return np.asarray(total, dtype=np.float64)
