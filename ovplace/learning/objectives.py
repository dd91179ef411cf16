"""Objectives of learned policies: the gain of REINFORCE, its clipped form (PPO), entropy, imitation; noisy logits."""

from __future__ import annotations

import torch
from torch import Tensor

from ovplace.graphs.op_graph import FloatArray

MAX_LOG_RATIO = 20.0
"""Limit of log(new / old probability).

A random choice can become likely within one update; beyond 88 the ratio overflows to infinity and its gradient is NaN.
"""

MAX_SURPRISAL = 20.0
"""Limit of minus log probability, nats: that of an impossible device is infinite."""


def surrogate_gain(log_p: Tensor, old_log_p: Tensor, weights: Tensor, clip: float) -> Tensor:
    """Return the quantity to maximise for each sample, `[K]`.

    Source: Williams 1992, weight times log probability; with `clip`, Schulman et al. 2017 (PPO, equation 7).

    Args:
        log_p: log probabilities of the samples under the present weights, `[K]`.
        old_log_p: log probabilities when they were drawn, `[K]`.
        weights: reward, return or advantage of each sample, `[K]`.
        clip: limit on the relative change of a sample's probability; 0 for none.
    """
    if not clip:
        return weights * log_p
    ratio = torch.exp((log_p - old_log_p).clamp(max=MAX_LOG_RATIO))
    return torch.minimum(ratio * weights, ratio.clamp(1 - clip, 1 + clip) * weights)


def entropy_terms(log_p: Tensor) -> Tensor:
    """Return -p log p of each option, nats, `[..., D]`; the sum over the last axis is the entropy of a choice.

    Args:
        log_p: log probabilities, `[..., D]`, minus infinity for impossible options.
    """
    return -(log_p.exp() * log_p.clamp(min=-50.0))  # 0 times minus infinity would be NaN


def surprisal(log_p: Tensor) -> Tensor:
    """Return -log p of choices, nats, at most `MAX_SURPRISAL`, `[...]`; its mean is the cross-entropy to them.

    Args:
        log_p: log probabilities of the choices, `[...]`, minus infinity for impossible ones.
    """
    return -log_p.clamp(min=-MAX_SURPRISAL)


def perturbed(logits: Tensor, noise: FloatArray, axes: tuple[int, ...] = (-1,)) -> Tensor:
    """Return logits plus noise in units of the logits' root mean square.

    Source: Mirhoseini, Goldie et al., ICLR 2018, published code (TensorFlow 1.x, `hierarchical_controller.py`).

    Args:
        logits: the logits, `[..., C]`.
        noise: noise, of the shape of the logits or one that broadcasts to it.
        axes: axes over which the mean square is taken.
    """
    size = logits.square().mean(dim=axes, keepdim=True).sqrt()
    return logits + size * torch.from_numpy(noise).to(logits.dtype)
