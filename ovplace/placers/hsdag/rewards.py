"""Rewards of a buffer's steps, and the weight with which each step is learned.

Source: HSDAG, arXiv 2405.14185, equation 14; `log_cpu` and the return of a whole episode are those of its published
code. The logarithm relative to the fastest device, the running baseline and learning from the fastest steps only are
not published.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite, log

import numpy as np

from ovplace.graphs.op_graph import FloatArray
from ovplace.learning.deviation import batch_variance, seen_variance

REWARDS = ("inverse", "log", "log_cpu")
RETURNS = ("step", "episode")
BASELINE_RATE = 0.1
"""Weight of a buffer's mean and variance in the running ones."""


def step_rewards(kind: str, ratios: Sequence[float], max_log_ratio: float, cpu_ratio: float = 1.0) -> FloatArray:
    """Return the reward of each step, `[K]`.

    Latencies are relative to the reference, so that rewards have the same scale for all models.

    Source: HSDAG, equation 14 (`inverse`).

    Args:
        kind: `inverse` for the inverse of the ratio, -1 for a failure; `log` for minus its logarithm, twice the highest
            ratio for a failure; `log_cpu` for the same plus the logarithm of the CPU's ratio.
        ratios: latencies divided by that of the reference, infinite for a failure.
        max_log_ratio: highest log ratio seen.
        cpu_ratio: latency of the CPU alone divided by that of the reference.
    """
    if kind == "inverse":
        return np.array([1 / ratio if isfinite(ratio) else -1.0 for ratio in ratios])
    zero = log(cpu_ratio) if kind == "log_cpu" else 0.0
    return np.array([zero - log(ratio) if isfinite(ratio) else zero - max_log_ratio - log(2) for ratio in ratios])


def discounted_weights(kind: str, weights: FloatArray, discount: float) -> FloatArray:
    """Return how much each step of an episode counts in the update, `[K]`.

    Source: HSDAG, equation 14 (`step`), and its published code (`episode`).

    Args:
        kind: `step` for its own weight times the discount to the power of its number; `episode` for the sum of all, the
            last one undiscounted, for every step.
        weights: reward or advantage of each step, `[K]`.
        discount: the factor.
    """
    number = np.arange(1, len(weights) + 1)
    if kind == "step":
        return np.asarray(weights * discount**number)
    return np.full(len(weights), float(weights @ discount ** (len(weights) - number)))


def normalised_advantages(rewards: FloatArray, mean: float | None, variance: float) -> tuple[FloatArray, float, float]:
    """Return the difference of each reward from the running mean, in running standard deviations.

    Args:
        rewards: rewards of a buffer, `[K]`.
        mean: running mean of rewards; None before the first buffer.
        variance: running variance of rewards.

    Returns:
        The advantages, `[K]`, and the new running mean and variance.
    """
    new_mean = float(rewards.mean())
    new_variance = batch_variance(rewards, new_mean if mean is None else mean)
    if mean is None:
        mean, variance = new_mean, new_variance
    variance = seen_variance(variance, rewards, mean)
    advantage = (rewards - mean) / (variance**0.5 + 1e-3)
    return advantage, mean + BASELINE_RATE * (new_mean - mean), variance + BASELINE_RATE * (new_variance - variance)


def top_fraction_weights(ratios: Sequence[float], fraction: float) -> FloatArray:
    """Return 1 for the fastest fraction of the steps, at least for one of them, and 0 for the others and failures.

    Source: the cross-entropy method, Rubinstein 1999.

    Args:
        ratios: latencies divided by that of the reference, infinite for a failure, `[K]`.
        fraction: fraction of the steps that is kept, 0 to 1.
    """
    latency = np.array(ratios)
    fastest = np.argsort(latency, kind="stable")[: max(1, round(fraction * len(latency)))]
    weights = np.zeros(len(latency))
    weights[fastest] = np.isfinite(latency[fastest])
    return weights
