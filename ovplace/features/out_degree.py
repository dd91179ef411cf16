"""Number of connections from an operation to its readers, one-hot."""

from __future__ import annotations

from dataclasses import dataclass

from ovplace.graphs.degree_bins import one_hot_degrees
from ovplace.graphs.op_graph import FloatArray, OpGraph
from ovplace.plugins import protocols

SUMMARY = "number of connections to readers, one-hot"


@dataclass(frozen=True)
class Config:
    """No settings: the columns have the same meaning for every model."""


class Feature(protocols.Feature):
    """One column for each number of readers from 0 to 8, and three for larger ranges."""

    def compute(self, graph: OpGraph) -> FloatArray:
        """Return the one-hot rows, `[N, 12]`.

        Each parallel edge counts: a reader that takes a tensor twice counts twice.

        Source: HSDAG, NeurIPS 2024, node features: out-degree; there one-hot over the values that occur in one model.
        """
        return one_hot_degrees(graph.out_degree)
