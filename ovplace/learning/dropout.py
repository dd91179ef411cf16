"""Dropout whose random numbers are drawn four at a time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

_STEPS = 2**16
"""Equally likely numbers in 16 bits, so that probabilities are kept to 1 / 65,536."""


@contextmanager
def dropping(network: nn.Module, seed: int) -> Iterator[None]:
    """Let the dropout of a network work, by `seed`; afterwards it and torch's global generator are as before."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network.train()
        try:
            yield
        finally:
            network.eval()


class Dropout(nn.Module):
    """While training, zeroes numbers with probability `p` and divides the others by 1 - p (Srivastava et al. 2014).

    Torch's own draws a random number for each element one by one, which on CPU takes longer than the linear layer of
    128 by 128 before it; this takes a third of that, with the gradient.
    """

    def __init__(self, p: float) -> None:
        """Set the probability, at least 0 and below 1."""
        super().__init__()
        self._dropped = round(p * _STEPS)
        self._weight = _STEPS / (_STEPS - self._dropped)

    def forward(self, h: Tensor) -> Tensor:
        """Return `h` with some of its numbers zeroed, by torch's global generator."""
        if not self.training or not self._dropped:
            return h
        words = torch.empty(-(-h.numel() // 4), dtype=torch.int64).random_(-(2**63), None)
        kept = words.view(torch.int16)[: h.numel()].reshape(h.shape) >= self._dropped - _STEPS // 2
        return h * kept.to(h.dtype).mul_(self._weight)  # a fifth of the time of `torch.where`
