"""Number of connected inputs of an operation, one-hot."""

from __future__ import annotations

from dataclasses import dataclass

from ovplace.graphs.degree_bins import one_hot_degrees
from ovplace.graphs.op_graph import FloatArray, OpGraph
from ovplace.plugins import protocols

SUMMARY = "number of connected inputs, one-hot"


@dataclass(frozen=True)
class Config:
    """No settings: the columns have the same meaning for every model."""


class Feature(protocols.Feature):
    """One column for each number of inputs from 0 to 8, and three for larger ranges."""

    def compute(self, graph: OpGraph) -> FloatArray:
        """Return the one-hot rows, `[N, 12]`.

        Each parallel edge counts: `a * a` has two inputs, and the degrees add up to the number of edges that the paper
        reports for its models.

        Source: HSDAG, NeurIPS 2024, node features: in-degree; there one-hot over the values that occur in one model, so
        that the meaning of a column differs between models.
        """
        return one_hot_degrees(graph.in_degree)
