"""REINFORCE on latency ratios for policies that draw whole placements: signal, moving baseline, update.

Source: Williams 1992; Mirhoseini et al., "Device placement optimization with reinforcement learning", ICML 2017, arXiv
1706.04972, section 3.1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf

import numpy as np
import torch
from torch import Tensor, nn

from ovplace.graphs.op_graph import BoolArray, FloatArray, IntArray
from ovplace.learning.deviation import batch_variance, seen_variance
from ovplace.learning.objectives import surrogate_gain
from ovplace.learning.optimiser import Optimiser, linear_schedule
from ovplace.learning.setting_checks import check_choices

SIGNALS: dict[str, Callable[[FloatArray], FloatArray]] = {"sqrt": np.sqrt, "identity": np.positive, "log1p": np.log1p}
"""Increasing functions of the latency ratio, to be minimised."""


MOST_SAMPLES = 1_000_000
"""Each sample of a batch has a generator of random numbers of its own."""


@dataclass(frozen=True)
class ReinforceSettings:
    """Settings of the update; `docs/explanation/systems/seq2seq.md` has the formulas.

    Attributes:
        samples: placements between two updates, at most a million.
        signal: function of the latency ratio that is minimised: `sqrt`, `identity` or `log1p`.
        failure_ratio: latency ratio assigned to a failure, at least 1; 0 for twice the highest ratio seen.
        baseline: initial value of the signal's moving average: that of a `failure`, or the mean of the `first` samples.
        decay: weight of the old average in the new one.
        drop_failures_after: from this update on, failed placements are left out of updates.
        normalised: divide advantages by the moving standard deviation of the signal.
        learning_rate: initial learning rate of Adam; 0 learns nothing.
        rate_decay: factor applied to the learning rate at regular intervals.
        rate_decay_every: updates between two applications of `rate_decay`.
        rate_decay_after: updates before the first of these intervals begins.
        epochs: optimiser steps per update.
        clip: PPO's limit on the relative change of a sample's probability in an update; 0 for none.
        entropy: initial weight of the mean entropy of a decision.
        entropy_end: weight of the mean entropy after `anneal` updates.
        anneal: updates over which the entropy weight changes.
        max_grad_norm: gradients with a larger norm are scaled to this one; 0 for no limit.
    """

    samples: int = 10
    signal: str = "log1p"
    failure_ratio: float = 0.0
    baseline: str = "first"
    decay: float = 0.9
    drop_failures_after: int = 5000
    normalised: bool = True
    learning_rate: float = 3e-3
    rate_decay: float = 1.0
    rate_decay_every: int = 50
    rate_decay_after: int = 0
    epochs: int = 4
    clip: float = 0.2
    entropy: float = 0.05
    entropy_end: float = 0.01
    anneal: int = 10
    max_grad_norm: float = 1.0

    def __post_init__(self) -> None:
        """Check choices and ranges."""
        check_choices(self, {"signal": SIGNALS, "baseline": ("failure", "first")})
        if not 1 <= self.samples <= MOST_SAMPLES:
            raise ValueError(f"samples must be between 1 and {MOST_SAMPLES}, got {self.samples}")
        for name in ("epochs", "anneal", "rate_decay_every"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")
        for name in _NOT_NEGATIVE:
            if not 0 <= getattr(self, name) < inf:
                raise ValueError(f"{name} must be at least 0 and finite, got {getattr(self, name)}")
        if not 0 <= self.decay < 1 or not 0 < self.rate_decay <= 1:
            raise ValueError(
                "decay must be at least 0 and below 1, rate_decay above 0 and at most 1, "
                f"got {self.decay} and {self.rate_decay}"
            )
        if 0 < self.failure_ratio < 1:  # a failure would be a success
            raise ValueError(f"failure_ratio must be 0 or at least 1, the reference's, got {self.failure_ratio}")
        if self.baseline == "failure" and not self.failure_ratio:
            raise ValueError("baseline = 'failure' needs a failure_ratio of at least 1, got 0")

    def learning_rate_at(self, update: int) -> float:
        """Return the learning rate after a number of updates."""
        decays = max(0, update - self.rate_decay_after) // self.rate_decay_every
        return self.learning_rate * self.rate_decay**decays

    def entropy_at(self, update: int) -> float:
        """Return the weight of the entropy after a number of updates."""
        return linear_schedule(self.entropy, self.entropy_end, update, self.anneal)


_NOT_NEGATIVE = (
    "failure_ratio", "learning_rate", "drop_failures_after", "rate_decay_after", "clip", "entropy", "entropy_end",
    "max_grad_norm",
)  # fmt: skip


@dataclass
class ReinforceProgress:
    """State of the learner apart from weights, as plain data.

    Attributes:
        updates: number of updates made.
        baseline: moving average of the signal; None before the first sample that counts.
        variance: moving variance of the signal; None before the first sample that counts.
        max_ratio: highest latency ratio seen, at least 1.
    """

    updates: int = 0
    baseline: float | None = None
    variance: float | None = None
    max_ratio: float = 1.0

    def advantages(self, settings: ReinforceSettings, ratios: FloatArray) -> tuple[FloatArray, BoolArray]:
        """Return the advantage B - R of each sample and move the baseline B towards the mean signal R.

        The advantage is that against the baseline before these samples, which does not depend on them.

        Args:
            settings: definition of signal and baseline.
            ratios: latency ratios, infinite for failures, `[K]`.

        Returns:
            The advantages, `[K]`, and which samples count, `[K]`.
        """
        succeeded = np.isfinite(ratios)
        self.max_ratio = max(self.max_ratio, float(ratios[succeeded].max(initial=0.0)))
        failure_ratio = settings.failure_ratio or 2 * self.max_ratio
        signal = SIGNALS[settings.signal](np.where(succeeded, ratios, failure_ratio))
        counts = succeeded | (self.updates < settings.drop_failures_after)
        if not counts.any():
            return np.zeros(len(ratios)), counts
        mean = float(signal[counts].mean())
        if self.baseline is None:
            start = SIGNALS[settings.signal](np.array(failure_ratio))
            self.baseline = float(start) if settings.baseline == "failure" else mean
        variance = batch_variance(signal[counts], self.baseline)
        before = variance if self.variance is None else self.variance
        self.variance = seen_variance(before, signal[counts], self.baseline)
        advantage = self.baseline - signal
        if settings.normalised:
            advantage = advantage / (self.variance**0.5 + 1e-3)
        self.baseline += (1 - settings.decay) * (mean - self.baseline)
        self.variance += (1 - settings.decay) * (variance - self.variance)
        return advantage, counts


class SampledPolicy(nn.Module):
    """A distribution over sequences of A integer actions, each of which defines a placement."""

    def draw(self, rngs: Sequence[np.random.Generator], update: int, exploration_rate: FloatArray) -> IntArray:
        """Draw one sequence from each generator.

        Args:
            rngs: K generators, the only source of randomness.
            update: number of updates so far, for schedules.
            exploration_rate: weight of the uniform distribution in the mixture with the policy's own, `[K]`.

        Returns:
            The sequences, `[K, A]`.
        """
        raise NotImplementedError

    def choices(self, actions: IntArray) -> IntArray:
        """Return the device of each group defined by sequences `[K, A]`, `[K, G]`."""
        raise NotImplementedError

    def log_p(self, actions: IntArray) -> tuple[Tensor, Tensor]:
        """Return the log probability of sequences `[K, A]`, `[K]`, and the mean entropy of a decision, nats."""
        raise NotImplementedError


class Reinforce:
    """A policy with its optimiser and baseline.

    Descends mean((R - B) log p) with signal R and baseline B: samples faster than usual become more probable. With
    `clip`, it ascends the surrogate of Schulman et al. 2017 (PPO, equation 7) instead.

    Attributes:
        policy: the policy being learned.
        progress: number of updates, and the baseline.
    """

    def __init__(self, policy: SampledPolicy, settings: ReinforceSettings) -> None:
        """Start with a new optimiser.

        Args:
            policy: the policy to learn.
            settings: settings of signal, baseline and optimiser.
        """
        self.policy, self.progress, self._settings = policy, ReinforceProgress(), settings
        self._optimiser = Optimiser(policy, settings.learning_rate)

    def learn(self, actions: IntArray, ratios: FloatArray, drawn_from: str = "") -> None:
        """Make one update.

        Args:
            actions: the sequences drawn, `[K, A]`.
            ratios: latency ratios of their placements, infinite for failures, `[K]`.
            drawn_from: what `dump` returned when they were drawn, for the first gradient at those weights; empty for
                the present ones.
        """
        weights, counts = self.progress.advantages(self._settings, ratios)
        if counts.any():
            self._update(actions[counts], torch.from_numpy(weights[counts]), drawn_from)
        self.progress.updates += 1

    def dump(self) -> str:
        """Return weights and optimiser state as text."""
        return self._optimiser.dump()

    def restore(self, text: str) -> None:
        """Replace weights and optimiser state by those that `dump` returned."""
        self._optimiser.restore(text)

    def _update(self, actions: IntArray, weights: Tensor, drawn_from: str) -> None:
        settings, update = self._settings, self.progress.updates
        old: Tensor | None = None
        for epoch in range(settings.epochs):
            with self._optimiser.at("" if epoch else drawn_from):
                log_p, entropy = self.policy.log_p(actions)
                old = log_p.detach() if old is None else old
                gain = surrogate_gain(log_p, old, weights.to(log_p.dtype), settings.clip)
                loss = -gain.mean() - settings.entropy_at(update) * entropy
                torch.autograd.backward(loss)
            self._optimiser.step(settings.max_grad_norm, settings.learning_rate_at(update))
