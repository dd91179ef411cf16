"""The optimiser step of all learned placers: Adam with gradient clipping, and linear schedules."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn

from ovplace.errors import DivergedError
from ovplace.learning.tensors_text import tensors_from_text, tensors_to_text

_WEIGHT, _MOMENT = "weight", "moment"

_LARGEST_RATE = torch.finfo(torch.float32).max / 16
"""Adam multiplies the rate by ten in its first step, and refuses one that is no float32 then."""


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

        Raises:
            DivergedError: weights are not finite any more.
        """
        for group in self._adam.param_groups:
            group["lr"] = group["lr"] if learning_rate is None else learning_rate
            if group["lr"] > _LARGEST_RATE:
                raise DivergedError
        if max_grad_norm:
            torch.nn.utils.clip_grad_norm_(self.network.parameters(), max_grad_norm)
        self._adam.step()
        self._adam.zero_grad()
        if not all(weight.isfinite().all() for weight in self.network.parameters()):
            raise DivergedError

    @contextmanager
    def at(self, text: str) -> Iterator[None]:
        """Let gradients be those at other weights; the present ones come back, and gradients stay.

        Args:
            text: what `dump` returned when the network had these weights; empty for the present ones.
        """
        if not text:
            yield
            return
        present = {name: value.clone() for name, value in self.network.state_dict().items()}
        self.network.load_state_dict(_split(text)[0])
        try:
            yield
        finally:
            self.network.load_state_dict(present)

    def dump(self) -> str:
        """Return the weights and Adam's moments as text."""
        adam = self._adam.state_dict()
        weights = {f"{_WEIGHT} {name}": value for name, value in self.network.state_dict().items()}
        moments = {
            f"{_MOMENT} {number} {name}": value
            for number, state in adam["state"].items()
            for name, value in state.items()
        }
        return tensors_to_text({**weights, **moments}, adam["param_groups"])

    def restore(self, text: str) -> None:
        """Replace weights and moments by those that `dump` returned.

        Raises:
            StoreError: the text is damaged, or of another version.
        """
        weights, moments, groups = _split(text)
        self.network.load_state_dict(weights)
        self._adam.load_state_dict({"state": moments, "param_groups": groups})


def _split(text: str) -> tuple[dict[str, torch.Tensor], dict[int, dict[str, torch.Tensor]], Any]:
    """Return the weights by name, Adam's moments by the number of the weight, and its settings."""
    tensors, groups = tensors_from_text(text)
    weights: dict[str, torch.Tensor] = {}
    moments: dict[int, dict[str, torch.Tensor]] = {}
    for key, value in tensors.items():
        kind, _, name = key.partition(" ")
        if kind == _WEIGHT:
            weights[name] = value
        else:
            number, _, moment = name.partition(" ")
            moments.setdefault(int(number), {})[moment] = value
    return weights, moments, groups


def linear_schedule(start: float, end: float, update: int, length: int) -> float:
    """Return a value that changes linearly with the number of updates, then stays.

    Args:
        start: value at update 0.
        end: value from update `length` on.
        update: number of updates made so far.
        length: updates between the two, at least 1.
    """
    return start + min(1.0, update / length) * (end - start)
