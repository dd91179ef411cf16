"""How much an operation computes, and how many weights it reads for that."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ovplace.graphs.op_graph import FloatArray, OpGraph
from ovplace.graphs.work import work
from ovplace.plugins import protocols

SUMMARY = "arithmetic and weights, logarithmic"

MOST = (1e12, 1e9)
"""FLOPs and bytes that count as 1: more than one operation of a model that a desktop machine runs at once."""


@dataclass(frozen=True)
class Config:
    """There is nothing to set: columns keep their meaning from model to model."""


class Feature(protocols.Feature):
    """FLOPs and bytes of weights."""

    def compute(self, graph: OpGraph) -> FloatArray:
        """Return log(1 + FLOPs) and log(1 + bytes of constants read), scaled, `[N, 2]`.

        Counted as the cost model counts (`ovplace/cost/flops.py`): constants, views and what is computed from
        constants alone do nothing. Not in the HSDAG paper, which leaves the work to be guessed from type and shape.
        """
        done = work(graph)
        return np.log1p(np.stack([done.flops, done.weight_bytes], axis=1)) / np.log1p(MOST)
