"""Distance of an operation from the inputs and from the outputs of the model."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ovplace.graphs.op_graph import FloatArray, OpGraph
from ovplace.graphs.positions import depth, height
from ovplace.plugins import protocols

SUMMARY = "longest paths from the inputs and to the outputs, relative to the longest path of the model"


@dataclass(frozen=True)
class Config:
    """No settings."""


class Feature(protocols.Feature):
    """Two columns from 0 to 1: depth and height in the graph."""

    def compute(self, graph: OpGraph) -> FloatArray:
        """Return depth and height, relative to the number of edges of the model's longest path, `[N, 2]`.

        They add up to 1 for operations on a longest path and to less for others; the difference is the slack of the
        operation. Not in the HSDAG paper, in which only positions and degrees show the direction of edges.
        """
        rows = np.stack([depth(graph), height(graph)], axis=1)
        return rows / max(int(rows.max(initial=0)), 1)
