"""Dropout with four random numbers drawn at a time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

_STEPS = 2**16
"""Distinct random numbers of 16 bits: probabilities are rounded to multiples of 1 / 65,536, at most 65,535 of them."""


@contextmanager
def active_dropout(network: nn.Module, seed: int) -> Iterator[None]:
    """Enable a network's dropout inside the `with` block, then restore evaluation mode and torch's global generator.

    Args:
        network: the network, in evaluation mode.
        seed: seed of the dropout masks.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network.train()
        try:
            yield
        finally:
            network.eval()


class Dropout(nn.Module):
    """In training mode, zeroes numbers with probability `p` and divides the others by 1 - p (Srivastava et al. 2014).

    Torch's own dropout draws one random number per element, which on CPU takes longer than the linear layer of 128 by
    128 before it. This one takes a third of that time, gradient included.
    """

    def __init__(self, p: float) -> None:
        """Set the probability, at least 0 and below 1."""
        super().__init__()
        self._dropped = min(round(p * _STEPS), _STEPS - 1)
        self._weight = _STEPS / (_STEPS - self._dropped)

    def forward(self, h: Tensor) -> Tensor:
        """Return `h` with some numbers zeroed, drawn from torch's global generator."""
        if not self.training or not self._dropped:
            return h
        words = torch.empty(-(-h.numel() // 4), dtype=torch.int64).random_(-(2**63), None)
        kept = words.view(torch.int16)[: h.numel()].reshape(h.shape) >= self._dropped - _STEPS // 2
        return h * kept.to(h.dtype).mul_(self._weight)  # a fifth of the time of `torch.where`
