"""The optimiser step of all learned placers: Adam with gradient clipping, and linear schedules."""

from __future__ import annotations

import base64
import io
from typing import Any

import torch
from torch import nn


class Optimiser:
    """Adam (Kingma and Ba 2015) on the weights of one network.

    Gradients accumulate over calls of `backward()`; `step` applies and clears them.

    Attributes:
        network: the network whose weights are learned.
    """

    def __init__(self, network: nn.Module, learning_rate: float, *, fused: bool = False) -> None:
        """Start with empty moments.

        Args:
            network: the network to learn.
            learning_rate: initial learning rate.
            fused: use torch's fused kernel, which is faster for many weights and rounds differently.
        """
        self.network = network
        self._adam = torch.optim.Adam(network.parameters(), lr=learning_rate, fused=fused or None)

    def step(self, max_grad_norm: float, learning_rate: float | None = None) -> None:
        """Clip the accumulated gradient, apply it, and clear it.

        Args:
            max_grad_norm: a longer gradient is scaled to this Euclidean norm; 0 for no limit.
            learning_rate: learning rate from this step on; None keeps the present one.
        """
        if learning_rate is not None:
            for group in self._adam.param_groups:
                group["lr"] = learning_rate
        if max_grad_norm:
            torch.nn.utils.clip_grad_norm_(self.network.parameters(), max_grad_norm)
        self._adam.step()
        self._adam.zero_grad()

    def dump(self) -> str:
        """Return the weights and Adam's moments as text."""
        buffer = io.BytesIO()
        torch.save({"policy": self.network.state_dict(), "optimiser": self._adam.state_dict()}, buffer)
        return base64.b64encode(buffer.getvalue()).decode("ascii")

    def restore(self, text: str) -> None:
        """Replace weights and moments by those that `dump` returned."""
        data: Any = torch.load(io.BytesIO(base64.b64decode(text)), weights_only=True)
        self.network.load_state_dict(data["policy"])
        self._adam.load_state_dict(data["optimiser"])


def linear_schedule(start: float, end: float, update: int, length: int) -> float:
    """Return a value that changes linearly with the number of updates, then stays.

    Args:
        start: value at update 0.
        end: value from update `length` on.
        update: number of updates made so far.
        length: updates between the two, at least 1.
    """
    return start + min(1.0, update / length) * (end - start)
