"""What a policy gradient ascends: REINFORCE's gain, or PPO's clipped one."""

from __future__ import annotations

import torch
from torch import Tensor

LARGEST_LOG_RATIO = 20.0
"""A choice drawn by chance may become likely in one pass: beyond 88 its ratio is infinite, its gradient no number."""


def surrogate(log_p: Tensor, before: Tensor, weights: Tensor, clip: float) -> Tensor:
    """Return what to increase for each sample, `[K]`.

    Source: Williams 1992, weight times log probability; with `clip`, Schulman et al. 2017 (PPO, equation 7).

    Args:
        log_p: log probabilities of the samples now, `[K]`.
        before: the same when they were drawn, `[K]`.
        weights: reward, return or advantage of each, `[K]`.
        clip: how far the probability of a sample may move, as a fraction; 0 for no limit.
    """
    if not clip:
        return weights * log_p
    ratio = torch.exp((log_p - before).clamp(max=LARGEST_LOG_RATIO))
    return torch.minimum(ratio * weights, ratio.clamp(1 - clip, 1 + clip) * weights)
