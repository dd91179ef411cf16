"""The shape of an operation's first output."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ovplace.graphs.op_graph import FloatArray, OpGraph, Shape
from ovplace.plugins import protocols

SUMMARY = "shape of the first output, padded with zeros, logarithmic"

DIMENSIONS = 6
"""Columns of dimensions: the longest rank of convolutional, attention and detection models, 5, and one to spare."""

SCALE = math.log1p(65_536)
"""What counts as 1: about a vocabulary, the largest dimension to be met often."""


@dataclass(frozen=True)
class Config:
    """There is nothing to set: columns keep their meaning from model to model."""


class Feature(protocols.Feature):
    """Six dimensions, whether any is dynamic, and the rank."""

    def compute(self, graph: OpGraph) -> FloatArray:
        """Return log(1 + d) of six dimensions, scaled, a flag for dynamic ones, and the rank over 6, `[N, 8]`.

        Missing and dynamic dimensions are 0, so is the whole row of a scalar or where there is no output. Dimensions
        from the sixth on are multiplied. Source: HSDAG, NeurIPS 2024, node features: output shape, zero-padded; there
        four raw dimensions, of which one of 30,000 drowns all else.
        """
        rows = [_row(shapes[0] if shapes else ()) for shapes in graph.shapes]
        return np.array(rows, dtype=np.float64).reshape(len(graph), DIMENSIONS + 2)


def _row(shape: Shape) -> list[float]:
    known = [max(d, 0) for d in shape]
    kept = known[: DIMENSIONS - 1] + ([math.prod(known[DIMENSIONS - 1 :])] if len(known) >= DIMENSIONS else [])
    padded = kept + [0] * (DIMENSIONS - len(kept))
    return [*(math.log1p(d) / SCALE for d in padded), float(min(shape, default=0) < 0), len(shape) / DIMENSIONS]
