"""Arithmetic of an operation and bytes of the weights that it reads."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ovplace.graphs.op_graph import FloatArray, OpGraph
from ovplace.graphs.work import work
from ovplace.plugins import protocols

SUMMARY = "FLOPs and bytes of weights, on a logarithmic scale"

SCALE = (1e12, 1e9)
"""FLOPs and bytes that give 1, more than those of most operations."""


@dataclass(frozen=True)
class Config:
    """No settings: the columns have the same meaning for every model."""


class Feature(protocols.Feature):
    """Two columns: FLOPs and bytes of weights."""

    def compute(self, graph: OpGraph) -> FloatArray:
        """Return log(1 + FLOPs) and log(1 + bytes of constants read), scaled, `[N, 2]`.

        Counted as in the cost model (`ovplace/graphs/work.py`): constants, views, and operations on constants alone
        have none. Not in the HSDAG paper, in which only type and shape hint at the work.
        """
        done = work(graph)
        return np.log1p(np.stack([done.flops, done.weight_bytes], axis=1)) / np.log1p(SCALE)
