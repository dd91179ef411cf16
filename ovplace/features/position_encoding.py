"""The place of an operation in the topological order as waves of many lengths."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ovplace.graphs.op_graph import FloatArray, OpGraph
from ovplace.graphs.positions import latest_position
from ovplace.plugins import protocols

SUMMARY = "sinusoidal encoding of the place in the topological order"

COLUMNS = 16
"""The paper's d_pos, for which it gives no number; even."""

BASE = 10_000.0


@dataclass(frozen=True)
class Config:
    """There is nothing to set: columns keep their meaning from model to model."""


class Feature(protocols.Feature):
    """Sines in the even columns and cosines in the odd ones, each pair longer than the one before."""

    def compute(self, graph: OpGraph) -> FloatArray:
        """Return sin and cos of pos / 10000^(2i / 16) for i = 0..7 in turns, `[N, 16]`.

        `pos` is the latest position, 1..N: constants stand shortly before what reads them, so that what belongs
        together has similar rows. Source: HSDAG, NeurIPS 2024, node features, after Vaswani et al., 2017, 3.5.
        """
        wave = BASE ** (-np.arange(0, COLUMNS, 2) / COLUMNS)
        angle = latest_position(graph)[:, None] * wave
        return np.stack([np.sin(angle), np.cos(angle)], axis=2).reshape(len(graph), COLUMNS)
