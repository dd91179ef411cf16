"""Shape of the first output of an operation."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ovplace.graphs.op_graph import FloatArray, OpGraph, Shape
from ovplace.plugins import protocols

SUMMARY = "shape of the first output, padded with zeros, on a logarithmic scale"

DIMENSIONS = 6
"""Columns of dimensions: the highest rank of convolutional, attention and detection models, 5, and one more."""

SCALE = math.log1p(65_536)
"""Scale of the logarithms: 65,536, about the size of a vocabulary, gives 1."""


@dataclass(frozen=True)
class Config:
    """No settings: the columns have the same meaning for every model."""


class Feature(protocols.Feature):
    """Eight columns: six dimensions, whether any is dynamic, and the rank."""

    def compute(self, graph: OpGraph) -> FloatArray:
        """Return log(1 + d) of six dimensions, scaled, a flag for dynamic ones, and the rank divided by 6, `[N, 8]`.

        Missing and dynamic dimensions are 0, and so is the whole row of a scalar or of an operation without output.
        Dimensions from the sixth on are multiplied.

        Source: HSDAG, NeurIPS 2024, node features: output shape, zero-padded; there four dimensions without a
        logarithm, of which one of 30,000 dominates all other features.
        """
        rows = [_row(shapes[0] if shapes else ()) for shapes in graph.shapes]
        return np.array(rows, dtype=np.float64).reshape(len(graph), DIMENSIONS + 2)


def _row(shape: Shape) -> list[float]:
    known = [max(d, 0) for d in shape]
    kept = known[: DIMENSIONS - 1] + ([math.prod(known[DIMENSIONS - 1 :])] if len(known) >= DIMENSIONS else [])
    padded = kept + [0] * (DIMENSIONS - len(kept))
    return [*(math.log1p(d) / SCALE for d in padded), float(min(shape, default=0) < 0), len(shape) / DIMENSIONS]
