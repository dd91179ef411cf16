"""REINFORCE on latency ratios: signal, moving baseline, what failures count, and the optimiser's step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import isfinite

import numpy as np
import torch
from torch import Tensor, nn

from ovplace.graphs.op_graph import BoolArray, FloatArray, IntArray
from ovplace.learning import checkpoint
from ovplace.learning.surrogate import surrogate

SIGNALS: dict[str, Callable[[FloatArray], FloatArray]] = {"sqrt": np.sqrt, "identity": np.positive, "log1p": np.log1p}
"""What is made of the latency ratio; each grows with it, and less is better."""


@dataclass(frozen=True)
class ReinforceSettings:
    """How to learn; `docs/explanation/systems/seq2seq.md` has the formulas.

    Attributes:
        samples: placements between two updates.
        signal: what is minimised, of the latency ratio: `sqrt`, `identity` or `log1p`.
        failing: latency ratio that a failure counts as; 0 for twice the highest seen.
        baseline: the moving average of the signal starts at that of a `failure`, or at the mean of the `first` samples.
        decay: weight of the old average in the new one.
        late: from this update on, only placements that ran count.
        normalised: divide advantages by the moving deviation of the signal.
        learning_rate: of Adam.
        rate_decay: factor on the learning rate.
        rate_decay_every: updates after which it is applied, and applied again.
        rate_decay_after: updates before that begins.
        epochs: steps of the optimiser in an update.
        clip: PPO's limit on the change of a sample's probability in an update; 0 for none.
        entropy: weight of the mean entropy of a decision at the start.
        entropy_end: the same after `anneal` updates.
        anneal: updates from the one to the other.
        max_grad_norm: longer gradients are shortened to this; 0 for no limit.
    """

    samples: int = 10
    signal: str = "log1p"
    failing: float = 0.0
    baseline: str = "first"
    decay: float = 0.9
    late: int = 5000
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
        for name, known in (("signal", tuple(SIGNALS)), ("baseline", ("failure", "first"))):
            if getattr(self, name) not in known:
                raise ValueError(f"{name} must be one of {', '.join(known)}, got '{getattr(self, name)}'")
        for name in ("samples", "epochs", "anneal", "rate_decay_every"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")
        for name in ("failing", "late", "rate_decay_after", "clip", "entropy", "entropy_end", "max_grad_norm"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} must be at least 0, got {getattr(self, name)}")
        if not 0 <= self.decay < 1 or not 0 < self.rate_decay <= 1 or self.learning_rate <= 0:
            raise ValueError(
                "decay must be at least 0 and below 1, rate_decay above 0 and at most 1, learning_rate positive, "
                f"got {self.decay}, {self.rate_decay} and {self.learning_rate}"
            )
        if self.baseline == "failure" and not self.failing:
            raise ValueError("baseline = 'failure' needs a positive 'failing'")


@dataclass
class Progress:
    """What learning keeps beside weights, as plain data.

    Attributes:
        updates: made so far.
        baseline: moving average of the signal; None before the first sample that counts.
        variance: moving variance of the signal; likewise.
        worst: highest latency ratio seen.
    """

    updates: int = 0
    baseline: float | None = None
    variance: float | None = None
    worst: float = 1.0


class SampledPolicy(nn.Module):
    """A distribution over action sequences `[A]` of integers, each of which says a placement."""

    def draw(self, rngs: Sequence[np.random.Generator], update: int, chance: FloatArray) -> IntArray:
        """Return a sequence from each generator, `[K, A]`.

        Args:
            rngs: the only randomness, K of them.
            update: number of updates so far, for schedules.
            chance: weight of the uniform distribution against the policy's own for each sample, `[K]`.
        """
        raise NotImplementedError

    def choices(self, actions: IntArray) -> IntArray:
        """Return the device of each group that sequences `[K, A]` say, `[K, G]`."""
        raise NotImplementedError

    def log_p(self, actions: IntArray) -> tuple[Tensor, Tensor]:
        """Return the log probability of sequences `[K, A]`, `[K]`, and the mean entropy of a decision, nats."""
        raise NotImplementedError


class Reinforce:
    """A policy with its optimiser, baseline and progress.

    Descends mean((R - B) log p) with signal R and baseline B (Williams 1992; Mirhoseini et al., ICML 2017, arXiv
    1706.04972, section 3.1): what took less than usual becomes more likely. With `clip`, the surrogate of Schulman et
    al. 2017 (PPO, equation 7) instead.
    """

    def __init__(self, policy: SampledPolicy, settings: ReinforceSettings) -> None:
        """Start with a new optimiser."""
        self.policy, self.progress, self._settings = policy, Progress(), settings
        self.optimiser = torch.optim.Adam(policy.parameters(), lr=settings.learning_rate)

    def learn(self, actions: IntArray, ratios: FloatArray) -> None:
        """Make one update by sequences `[K, A]` and the latency ratios of their placements `[K]`, inf for failures."""
        weights, counts = advantages(self._settings, self.progress, ratios)
        if counts.any():
            self._update(actions[counts], torch.from_numpy(weights[counts]))
        self.progress.updates += 1

    def dump(self) -> str:
        """Return weights and optimiser as text."""
        return checkpoint.dump(self.policy, self.optimiser)

    def restore(self, text: str) -> None:
        """Take over what `dump` returned."""
        checkpoint.restore(text, self.policy, self.optimiser)

    def _update(self, actions: IntArray, weights: Tensor) -> None:
        settings = self._settings
        for group in self.optimiser.param_groups:
            group["lr"] = _rate(settings, self.progress.updates)
        old: Tensor | None = None
        for _ in range(settings.epochs):
            self.optimiser.zero_grad()
            log_p, entropy = self.policy.log_p(actions)
            old = log_p.detach() if old is None else old
            gain = surrogate(log_p, old, weights.to(log_p.dtype), settings.clip)
            loss = -gain.mean() - _entropy_weight(settings, self.progress.updates) * entropy
            loss.backward()  # type: ignore[no-untyped-call]
            if settings.max_grad_norm:
                torch.nn.utils.clip_grad_norm_(self.policy.parameters(), settings.max_grad_norm)
            self.optimiser.step()


def advantages(settings: ReinforceSettings, progress: Progress, ratios: FloatArray) -> tuple[FloatArray, BoolArray]:
    """Return B - R of each sample, `[K]`, and which samples count, `[K]`; moves the baseline on by those that count.

    The baseline is that from before the samples, so that it does not depend on what it is subtracted from.

    Args:
        settings: how.
        progress: where learning stands; baseline, variance and worst change.
        ratios: latency ratios, inf for failures, `[K]`.
    """
    ran = np.isfinite(ratios)
    progress.worst = max(progress.worst, float(ratios[ran].max(initial=0.0)))
    failing = settings.failing or 2 * progress.worst
    signal = SIGNALS[settings.signal](np.where(ran, ratios, failing))
    counts = ran | (progress.updates < settings.late)
    if not counts.any():
        return np.zeros(len(ratios)), counts
    mean, variance = float(signal[counts].mean()), float(signal[counts].var())
    if progress.baseline is None or progress.variance is None:
        start = SIGNALS[settings.signal](np.array(failing))
        progress.baseline, progress.variance = float(start) if settings.baseline == "failure" else mean, variance
    advantage = progress.baseline - signal
    if settings.normalised:
        advantage = advantage / (progress.variance**0.5 + 1e-3)
    progress.baseline += (1 - settings.decay) * (mean - progress.baseline)
    progress.variance += (1 - settings.decay) * (variance - progress.variance)
    return advantage, counts


def _rate(settings: ReinforceSettings, update: int) -> float:
    decays = max(0, update - settings.rate_decay_after) // settings.rate_decay_every
    return settings.learning_rate * settings.rate_decay**decays


def _entropy_weight(settings: ReinforceSettings, update: int) -> float:
    done = min(1.0, update / settings.anneal)
    return settings.entropy + done * (settings.entropy_end - settings.entropy)


def finite_or_none(ratios: Sequence[float]) -> list[float | None]:
    """Return ratios as JSON has them: a failure is None."""
    return [ratio if isfinite(ratio) else None for ratio in ratios]
