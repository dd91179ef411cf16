"""Sinusoidal encoding of the position of an operation in the topological order."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ovplace.graphs.op_graph import FloatArray, OpGraph
from ovplace.graphs.positions import latest_position
from ovplace.plugins import protocols

SUMMARY = "sinusoidal encoding of the position in the topological order"

BASE = 10_000.0


@dataclass(frozen=True)
class Config:
    """Settings of the encoding.

    Attributes:
        columns: number of columns, even; d_pos in the paper, which gives no value.
    """

    columns: int = 16

    def __post_init__(self) -> None:
        """Check the number."""
        if self.columns < 2 or self.columns % 2:
            raise ValueError(f"columns must be even and at least 2, got {self.columns}")


class Feature(protocols.Feature):
    """Sines in the even columns, cosines in the odd ones, the wavelength growing from pair to pair."""

    def compute(self, graph: OpGraph) -> FloatArray:
        """Return sin and cos of pos / 10000^(2i / F) for i = 0..F/2 - 1 in turns, `[N, F]`.

        `pos` is the latest position, 1..N, which puts constants shortly before their readers, so that operations that
        belong together have similar rows.

        Source: HSDAG, NeurIPS 2024, node features, after Vaswani et al., "Attention is all you need", 2017, 3.5.
        """
        columns = self.config.columns
        wave = BASE ** (-np.arange(0, columns, 2) / columns)
        angle = latest_position(graph)[:, None] * wave
        return np.stack([np.sin(angle), np.cos(angle)], axis=2).reshape(len(graph), columns)
