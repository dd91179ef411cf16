"""Drawing by given random numbers, so that the same numbers draw the same."""

from __future__ import annotations

import numpy as np

from ovplace.graphs.op_graph import FloatArray, IntArray


def by_probability(p: FloatArray, uniforms: FloatArray) -> IntArray:
    """Return the option at which the cumulative probability `[..., C]` passes a number from 0 to 1, `[...]`.

    The two are broadcast: one distribution serves several numbers.
    """
    bounds = p.cumsum(axis=-1)
    return np.asarray((uniforms[..., None] * bounds[..., -1:] >= bounds).sum(axis=-1), dtype=np.int64)
