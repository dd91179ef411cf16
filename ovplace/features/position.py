"""Position of an operation in the topological order."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ovplace.graphs.op_graph import FloatArray, OpGraph
from ovplace.graphs.positions import earliest_position, latest_position
from ovplace.plugins import protocols

SUMMARY = "earliest and latest position in the topological order, 0 to 1"


@dataclass(frozen=True)
class Config:
    """No settings."""


class Feature(protocols.Feature):
    """Two columns from 0 to 1: earliest and latest position in the topological order."""

    def compute(self, graph: OpGraph) -> FloatArray:
        """Return the earliest and the latest position, counted from 0 and divided by N - 1, `[N, 2]`.

        Both increase along every edge; structurally equal operations share the mean of their positions.

        Source: HSDAG, NeurIPS 2024, node features: node id, the index in a topological order; there unscaled, in the
        order of the model's file.
        """
        rows = np.stack([earliest_position(graph), latest_position(graph)], axis=1)
        return (rows - 1) / max(len(graph) - 1, 1)
