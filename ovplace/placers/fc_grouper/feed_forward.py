"""Feed-forward network that gives each group a device.

Filled in: the abstract of Liu et al. 2019 does not describe its placer. Groups are described as in Mirhoseini, Goldie
et al., ICLR 2018, whose feed-forward policy is the closest published one.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

from ovplace.graphs.op_graph import BoolArray, FloatArray, IntArray
from ovplace.learning.layers import mlp
from ovplace.learning.objectives import entropy_terms, perturbed
from ovplace.learning.sampling import sample_categorical


class FeedForward(nn.Module):
    """Network of three layers that chooses the device of each group independently, with shared weights."""

    def __init__(self, n_features: int, n_devices: int, hidden: int, tanh_constant: float) -> None:
        """Build the layers.

        Args:
            n_features: features of a group F.
            n_devices: number of devices D.
            hidden: units of each hidden layer.
            tanh_constant: bound on the logits; 0 for none.
        """
        super().__init__()
        self._tanh_constant = tanh_constant
        self.layers = mlp(n_features, hidden, n_devices, 3)

    def forward(self, x: Tensor, allowed: BoolArray, noise: FloatArray | None = None) -> Tensor:
        """Return the log probability of each device for each group, `[S, K, D]`.

        Args:
            x: features of the groups, `[S, K, F]`.
            allowed: which device each may have, `[S, K, D]`.
            noise: added to the logits in units of a group's root mean square, `[S, K, D]`.
        """
        logits: Tensor = self.layers(x)
        if self._tanh_constant:
            logits = self._tanh_constant * torch.tanh(logits)
        if noise is not None:
            logits = perturbed(logits, noise)
        return torch.log_softmax(logits.masked_fill(torch.from_numpy(~allowed), float("-inf")), dim=2)

    @torch.no_grad()
    def draw(
        self,
        x: Tensor,
        allowed: BoolArray,
        uniforms: FloatArray,
        noise: FloatArray | None = None,
        exploration_rate: FloatArray | None = None,
    ) -> IntArray:
        """Return drawn devices, `[S, K]`.

        Args:
            x: features of the groups, `[S, K, F]`.
            allowed: which device each may have, `[S, K, D]`.
            uniforms: a number from [0, 1) for each draw, `[S, K]`.
            noise: added to the logits in units of a group's root mean square, `[S, K, D]`.
            exploration_rate: weight of the uniform distribution over allowed devices in the mixture, `[S]`.
        """
        p = self(x, allowed, noise).double().exp().numpy()
        weight = np.zeros((1, 1, 1)) if exploration_rate is None else exploration_rate[:, None, None]
        return sample_categorical((1 - weight) * p + weight * allowed / allowed.sum(axis=2, keepdims=True), uniforms)

    @torch.no_grad()
    def greedy(self, x: Tensor, allowed: BoolArray) -> IntArray:
        """Return the most probable devices, `[S, K]`.

        Args:
            x: features of the groups, `[S, K, F]`.
            allowed: which device each may have, `[S, K, D]`.
        """
        return np.asarray(self(x, allowed).argmax(dim=2).numpy(), dtype=np.int64)

    def log_p(self, x: Tensor, allowed: BoolArray, devices: IntArray) -> tuple[Tensor, Tensor]:
        """Return the log probability of a placement, and the entropy of its decisions.

        Args:
            x: features of the groups, `[S, K, F]`.
            allowed: which device each may have, `[S, K, D]`.
            devices: the placement, `[S, K]`.

        Returns:
            Log probabilities `[S]`, and the mean entropy of a group's device, nats.
        """
        log_p = self(x, allowed)
        entropy = entropy_terms(log_p).sum(dim=2).mean()
        return log_p.gather(2, torch.from_numpy(devices)[:, :, None]).sum(dim=(1, 2)), entropy
