"""How many connections enter an operation, one-hot."""

from __future__ import annotations

from dataclasses import dataclass

from ovplace.graphs.degree_bins import one_hot_degrees
from ovplace.graphs.op_graph import FloatArray, OpGraph
from ovplace.plugins import protocols

SUMMARY = "number of connected inputs, one-hot"


@dataclass(frozen=True)
class Config:
    """There is nothing to set: columns keep their meaning from model to model."""


class Feature(protocols.Feature):
    """One column for each number of inputs up to 8, and three for ranges beyond."""

    def compute(self, graph: OpGraph) -> FloatArray:
        """Return the one-hot rows, `[N, 12]`.

        Parallel edges count each: `a * a` has two inputs, and the degrees add up to the number of edges that the
        paper gives for its models. Source: HSDAG, NeurIPS 2024, node features: in-degree; there over the values that
        occur in one model, so that a column means another degree in each.
        """
        return one_hot_degrees(graph.in_degree)
