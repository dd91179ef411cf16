"""Degrees as one-hot columns that mean the same in every model."""

from __future__ import annotations

import numpy as np

from ovplace.graphs.op_graph import FloatArray, IntArray

LOWEST = (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 17, 33)
"""The lowest degree of each column: 0 to 8 exactly, then 9 to 16, 17 to 32, and more."""


def one_hot_degrees(degrees: IntArray) -> FloatArray:
    """Return one row for each of the `degrees` `[N]`, with a 1 in its column, `[N, 12]`."""
    column = np.searchsorted(LOWEST, degrees, side="right") - 1
    return np.eye(len(LOWEST))[column]
