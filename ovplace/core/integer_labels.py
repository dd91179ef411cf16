"""Integer labels of operations or groups: numbering them without gaps, and adding up what they label."""

from __future__ import annotations

import numpy as np

from ovplace.graphs.op_graph import FloatArray, IntArray


def renumbered(labels: IntArray) -> IntArray:
    """Return labels `[N]` numbered from 0 in the order of first appearance, `[N]`."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return np.asarray(rank[inverse.reshape(-1)])


def sums_by_label(labels: IntArray, values: FloatArray | IntArray, count: int) -> FloatArray:
    """Return the sum of the values of each label, `[count, ...]`; 0 for labels that do not occur.

    Args:
        labels: label of each row of `values`, from 0 to `count - 1`, `[R]`.
        values: `[R, ...]`.
        count: number of labels.
    """
    total = np.zeros((count, *values.shape[1:]))
    np.add.at(total, labels, values)
    return total
