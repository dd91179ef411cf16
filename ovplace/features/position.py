"""The place of an operation in the topological order."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ovplace.graphs.op_graph import FloatArray, OpGraph
from ovplace.graphs.positions import earliest_position, latest_position
from ovplace.plugins import protocols

SUMMARY = "place in the topological order, as early and as late as possible, 0 to 1"


@dataclass(frozen=True)
class Config:
    """There is nothing to set."""


class Feature(protocols.Feature):
    """Two topological orders, scaled to 0..1."""

    def compute(self, graph: OpGraph) -> FloatArray:
        """Return the earliest and the latest position over N - 1, counted from 0, `[N, 2]`.

        Both grow along every edge; operations that the structure cannot tell apart share the mean of their positions.
        Source: HSDAG, NeurIPS 2024, node features: node id, the index in a topological order; there unscaled, in
        whatever order the model's file has.
        """
        rows = np.stack([earliest_position(graph), latest_position(graph)], axis=1)
        return (rows - 1) / max(len(graph) - 1, 1)
