"""Inverse-transform sampling: the same uniform numbers give the same draws."""

from __future__ import annotations

import numpy as np

from ovplace.errors import DivergedError
from ovplace.graphs.op_graph import FloatArray, IntArray


def sample_categorical(p: FloatArray, uniforms: FloatArray) -> IntArray:
    """Draw from categorical distributions: the option at which the cumulative probability exceeds the uniform number.

    Args:
        p: probabilities or weights of the options, `[..., C]`.
        uniforms: numbers from [0, 1), `[...]`; broadcast against `p`, so that one distribution can serve many draws.

    Returns:
        Index of the drawn option, `[...]`.

    Raises:
        DivergedError: probabilities are NaN.
    """
    bounds = p.cumsum(axis=-1)
    if np.isnan(bounds[..., -1]).any():  # no bound would exceed anything, which draws the first option
        raise DivergedError
    return np.asarray((uniforms[..., None] * bounds[..., -1:] >= bounds).sum(axis=-1), dtype=np.int64)
