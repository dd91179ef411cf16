"""How far an operation is from the inputs and from the outputs of the model."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ovplace.graphs.op_graph import FloatArray, OpGraph
from ovplace.graphs.positions import depth, height
from ovplace.plugins import protocols

SUMMARY = "longest path from the inputs and to the outputs, over the longest of the model"


@dataclass(frozen=True)
class Config:
    """There is nothing to set."""


class Feature(protocols.Feature):
    """Depth and height in the graph, each 0..1."""

    def compute(self, graph: OpGraph) -> FloatArray:
        """Return depth and height over the edges of the model's longest path, `[N, 2]`; they add up to at most 1.

        An operation is on a longest path where they add up to 1; the gap is its slack. Not in the HSDAG paper, whose
        encoder sees the direction of edges through positions and degrees alone.
        """
        rows = np.stack([depth(graph), height(graph)], axis=1)
        return rows / max(int(rows.max(initial=0)), 1)
