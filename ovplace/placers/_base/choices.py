"""Choices of a device for each group, `[G]`."""

from __future__ import annotations

import numpy as np

from ovplace.graphs.op_graph import BoolArray, FloatArray, IntArray


def highest_allowed(scores: FloatArray, allowed: BoolArray) -> IntArray:
    """Return the device with the highest score among those that can run each group, `[G]`.

    Args:
        scores: non-negative score of each device for each group, `[G, D]`.
        allowed: which device can run which group, `[G, D]`.
    """
    best: IntArray = np.where(allowed, scores, -1.0).argmax(axis=1)
    return best


def random_choice(allowed: BoolArray, rng: np.random.Generator) -> IntArray:
    """Return a device for each group, uniformly random among those that can run it, `[G]`.

    Args:
        allowed: which device can run which group, `[G, D]`.
        rng: source of randomness; `G * D` numbers are drawn.
    """
    return highest_allowed(rng.random(allowed.shape), allowed)
