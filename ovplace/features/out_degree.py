"""How many connections leave an operation, one-hot."""

from __future__ import annotations

from dataclasses import dataclass

from ovplace.graphs.degree_bins import one_hot_degrees
from ovplace.graphs.op_graph import FloatArray, OpGraph
from ovplace.plugins import protocols

SUMMARY = "number of connections to readers, one-hot"


@dataclass(frozen=True)
class Config:
    """There is nothing to set: columns keep their meaning from model to model."""


class Feature(protocols.Feature):
    """One column for each number of readers up to 8, and three for ranges beyond."""

    def compute(self, graph: OpGraph) -> FloatArray:
        """Return the one-hot rows, `[N, 12]`.

        Parallel edges count each, as for the inputs: a reader that takes a tensor twice counts twice. Source: HSDAG,
        NeurIPS 2024, node features: out-degree; there over the values that occur in one model.
        """
        return one_hot_degrees(graph.out_degree)
