"""How much data an operation reads and writes: what would have to be moved if it ran elsewhere."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ovplace.graphs.op_graph import FloatArray, OpGraph
from ovplace.graphs.work import constant_bytes, tensor_bytes
from ovplace.plugins import protocols

SUMMARY = "bytes of tensors read and written, logarithmic"

MOST = 1e9
"""Bytes that count as 1."""


@dataclass(frozen=True)
class Config:
    """There is nothing to set: columns keep their meaning from model to model."""


class Feature(protocols.Feature):
    """Bytes in and bytes out."""

    def compute(self, graph: OpGraph) -> FloatArray:
        """Return log(1 + bytes read) and log(1 + bytes written), scaled, `[N, 2]`.

        A tensor counts once for its reader, however often it reads it, and once for its writer, if anybody reads it.
        Constants, and what is computed from them alone, are not read: they are on every device. Not in the HSDAG paper.
        """
        return np.asarray(np.log1p(np.stack([_read(graph), tensor_bytes(graph)], axis=1)) / np.log1p(MOST))


def _read(graph: OpGraph) -> FloatArray:
    moved = ~np.isin(graph.edges[0], list(constant_bytes(graph)))
    reads = np.stack([*graph.edges, graph.ports[0]])[:, moved]
    tensors, first = np.unique(reads, axis=1, return_index=True)
    total = np.bincount(tensors[1], weights=graph.out_bytes[moved][first], minlength=len(graph))
    return np.asarray(total, dtype=np.float64)
