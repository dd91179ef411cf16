"""How much each of a buffer's steps is learned from, by what its placement took."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite, log

import numpy as np

from ovplace.graphs.op_graph import FloatArray

REWARDS = ("inverse", "log")
FORGETTING = 0.1
"""Weight of a buffer's mean and variance in the running ones."""


def rewards(kind: str, ratios: Sequence[float], worst: float) -> FloatArray:
    """Return the reward of each step, `[K]`.

    Dividing by the reference keeps the scale the same for all models.

    Source: HSDAG, equation 14 (`inverse`).

    Args:
        kind: `inverse`, the reference's latency over the placement's, minus 1 for a failure; or `log` of that, a
            failure as twice the worst.
        ratios: latencies over that of the reference; infinite for a failure.
        worst: highest log ratio seen.
    """
    if kind == "inverse":
        return np.array([1 / ratio if isfinite(ratio) else -1.0 for ratio in ratios])
    return np.array([-log(ratio) if isfinite(ratio) else -worst - log(2) for ratio in ratios])


def advantages(found: FloatArray, mean: float | None, variance: float) -> tuple[FloatArray, float, float]:
    """Return how much higher the reward of each step is than usual, in usual deviations, `[K]`.

    Args:
        found: rewards of a buffer, `[K]`.
        mean: running mean of rewards; None before the first buffer.
        variance: running variance of them.

    Returns:
        The advantages, and mean and variance as they run on.
    """
    now, spread = float(found.mean()), float(found.var())
    if mean is None:
        mean, variance = now, spread
    advantage = (found - mean) / (variance**0.5 + 1e-3)
    return advantage, mean + FORGETTING * (now - mean), variance + FORGETTING * (spread - variance)


def elite(weights: FloatArray, part: float) -> FloatArray:
    """Return 1 for the best part of the weights `[K]`, at least for one, and 0 for the others."""
    count = max(1, round(part * len(weights)))
    found = np.zeros(len(weights))
    found[np.argsort(-weights, kind="stable")[:count]] = 1.0
    return found
