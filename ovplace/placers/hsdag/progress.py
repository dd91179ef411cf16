"""State of HSDAG's search apart from weights, and what it makes of measured latencies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite, log

from ovplace.graphs.op_graph import FloatArray
from ovplace.placers.hsdag.config import Config
from ovplace.placers.hsdag.rewards import (
    discounted_weights,
    normalised_advantages,
    step_rewards,
    top_fraction_weights,
)


@dataclass
class HsdagProgress:
    """State of the search apart from weights, as plain data.

    Attributes:
        proposed: number of fixed proposals asked.
        updates: number of updates of the policy.
        mean: running mean of rewards; None before the first update.
        variance: running variance of rewards.
        max_log_ratio: highest log ratio seen, at least 0.
        cpu_ratio: latency ratio of the CPU alone; None before it is measured, and where it fails.
        groups: number of groups in the last step.
    """

    proposed: int = 0
    updates: int = 0
    mean: float | None = None
    variance: float = 0.0
    max_log_ratio: float = 0.0
    cpu_ratio: float | None = None
    groups: int = 0

    def note(self, ratios: Sequence[float]) -> None:
        """Take measured latency ratios into account, infinite for failures."""
        self.max_log_ratio = max([self.max_log_ratio, *(log(ratio) for ratio in ratios if isfinite(ratio))])

    def step_weights(self, config: Config, ratios: Sequence[float]) -> FloatArray:
        """Return the weight of each step of an episode in the update, `[K]`, and move the running mean and variance.

        Source: HSDAG, equation 14, with the reward `inverse` and no baseline.

        Args:
            config: definition of rewards and weights.
            ratios: latency ratio of each step, infinite for failures, `[K]`.
        """
        weights = step_rewards(config.reward, ratios, self.max_log_ratio, self.cpu_ratio or 1.0)
        if config.baseline:
            weights, self.mean, self.variance = normalised_advantages(weights, self.mean, self.variance)
        if config.top_fraction:
            weights = top_fraction_weights(ratios, config.top_fraction)
        return discounted_weights(config.returns, weights, config.discount)
