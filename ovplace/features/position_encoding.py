"""Sinusoidal encoding of the position of an operation in the topological order."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ovplace.graphs.op_graph import FloatArray, OpGraph
from ovplace.graphs.positions import latest_position
from ovplace.plugins import protocols

SUMMARY = "sinusoidal encoding of the position in the topological order"

COLUMNS = 16
"""Number of columns, even; d_pos in the paper, which gives no value."""

BASE = 10_000.0


@dataclass(frozen=True)
class Config:
    """No settings: the columns have the same meaning for every model."""


class Feature(protocols.Feature):
    """Sixteen columns: sines in the even ones, cosines in the odd ones, the wavelength growing from pair to pair."""

    def compute(self, graph: OpGraph) -> FloatArray:
        """Return sin and cos of pos / 10000^(2i / 16) for i = 0..7 in turns, `[N, 16]`.

        `pos` is the latest position, 1..N, which puts constants shortly before their readers, so that operations that
        belong together have similar rows.

        Source: HSDAG, NeurIPS 2024, node features, after Vaswani et al., "Attention is all you need", 2017, 3.5.
        """
        wave = BASE ** (-np.arange(0, COLUMNS, 2) / COLUMNS)
        angle = latest_position(graph)[:, None] * wave
        return np.stack([np.sin(angle), np.cos(angle)], axis=2).reshape(len(graph), COLUMNS)
