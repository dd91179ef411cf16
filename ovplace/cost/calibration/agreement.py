"""The agreement of predicted with measured latencies."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ovplace.graphs.op_graph import FloatArray


@dataclass(frozen=True)
class Agreement:
    """The agreement of predictions with measurements.

    Attributes:
        spearman: correlation of the ranks; 0 where all predictions or all measurements are equal.
        mape: mean of the absolute relative errors, 0.1 for 10 %.
        n: number of placements compared.
    """

    spearman: float
    mape: float
    n: int


def agreement(predicted: FloatArray, measured: FloatArray) -> Agreement:
    """Return the agreement of predictions with measurements.

    Args:
        predicted: predicted latencies, `[B]`; finite.
        measured: measured latencies, `[B]`; finite and positive.
    """
    a, b = _ranks(predicted), _ranks(measured)
    varied = a.std() > 0 and b.std() > 0
    return Agreement(
        spearman=float(np.corrcoef(a, b)[0, 1]) if varied else 0.0,
        mape=float(np.abs(predicted / measured - 1).mean()),
        n=len(measured),
    )


def _ranks(values: FloatArray) -> FloatArray:
    """Return the rank of each value, equal values sharing the mean of theirs."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(counts) - (counts - 1) / 2)[inverse])
