"""Deviation of rewards, by which advantages are scaled."""

from __future__ import annotations

from ovplace.graphs.op_graph import FloatArray

_ROUNDING = 1e-12
"""Variance that equal numbers may have."""


def batch_variance(values: FloatArray, usual: float) -> float:
    """Return the variance of a batch of rewards; that of a single one is its squared distance from the usual one.

    The variance of one number is 0, and advantages in units of its root would have no bound.

    Args:
        values: rewards, or another signal, `[K]`.
        usual: their running mean before this batch.
    """
    return float(values.var()) if len(values) > 1 else float((values[0] - usual) ** 2)


def seen_variance(variance: float, values: FloatArray, usual: float) -> float:
    """Return the running variance; where all rewards so far were equal, the mean squared distance of a batch from them.

    A single first reward, or a first batch of failures, tells of no variance.

    Args:
        variance: the running variance before this batch.
        values: rewards, or another signal, `[K]`.
        usual: their running mean before this batch.
    """
    return variance if variance > _ROUNDING else float(((values - usual) ** 2).mean())
