"""Fully connected grouper with a feed-forward placer, learned together from measured latency."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from ovplace.core.problem import Problem
from ovplace.graphs.op_graph import BoolArray, FloatArray, IntArray
from ovplace.learning.checkpoint import seeded
from ovplace.learning.encoder import mlp
from ovplace.learning.nodes import Nodes
from ovplace.learning.sampling import by_probability
from ovplace.placers._base.policy_gradient import PolicyGradientPlacer, PolicyGradientSettings
from ovplace.placers.fc_grouper.network import GroupedPolicy, GrouperSettings
from ovplace.seeds import generator

SUMMARY = "fully connected grouper (Liu et al., HP3C 2019): learns to group, then places each group by itself"

PRESETS: Mapping[str, Mapping[str, object]] = {
    "tuned": {},
    "paper": {
        "groups": 0, "group_hidden": 64, "type_size": 20, "sharpness": 1.0, "hidden": 64, "tanh_constant": 1.0,
        "samples": 10, "signal": "sqrt", "failing": 100.0, "baseline": "failure", "decay": 0.9, "late": 1000,
        "normalised": False, "learning_rate": 1e-2, "epochs": 1, "entropy": 0.0, "entropy_end": 0.0,
        "max_grad_norm": 1.0, "uniform": False, "redraws": 0,
    },
}  # fmt: skip
"""Values that differ from the defaults. `paper`: the method of the abstract; no value of it is published."""


@dataclass(frozen=True)
class Config(GrouperSettings, PolicyGradientSettings):
    """Settings beside those of the grouper and of learning; those of a preset apply where nothing else is said.

    Of PPO's clipping there is none by default: the probability of hundreds of decisions taken together leaves its
    bounds after one step (`docs/explanation/systems/fc_grouper.md`).

    Attributes:
        preset: `paper` is the published method, its gaps filled; `tuned` what finds good placements in few
            measurements.
        hidden: units of the placer's two hidden layers.
        tanh_constant: the placer's logits are squeezed between minus this and this; 0 leaves them.
    """

    preset: str = "tuned"
    clip: float = 0.0
    hidden: int = 64
    tanh_constant: float = 0.0

    def __post_init__(self) -> None:
        """Check choices and ranges."""
        GrouperSettings.__post_init__(self)
        PolicyGradientSettings.__post_init__(self)
        if self.preset not in PRESETS:
            raise ValueError(f"preset must be one of {', '.join(PRESETS)}, got '{self.preset}'")
        if self.hidden < 1 or self.tanh_constant < 0:
            raise ValueError(
                f"hidden must be at least 1 and tanh_constant at least 0, got {self.hidden} and {self.tanh_constant}"
            )


class Placer(PolicyGradientPlacer):
    """Measures what the two networks draw, and teaches both.

    Source: Liu et al., "An effective method for operations placement in TensorFlow", HP3C 2019, known by its
    abstract alone; `docs/explanation/systems/fc_grouper.md` says how the gaps were filled.
    """

    def __init__(self, problem: Problem, config: Config) -> None:
        """Build the networks."""
        seed = int(generator(problem.seed, "placer", "fc_grouper", "weights").integers(2**31))
        nodes, devices = Nodes.of(problem), len(problem.devices)

        def head(n_features: int) -> FeedForward:
            return FeedForward(n_features, devices, config.hidden, config.tanh_constant)

        super().__init__(
            problem, seeded(lambda: GroupedPolicy(nodes, devices, config, head), seed), config, "fc_grouper"
        )


class FeedForward(nn.Module):
    """Gives each group a device by itself: a network of three layers, the same for all groups.

    Source: filled in; the abstract of Liu et al. 2019 does not say what the placer is. A group is described as in
    Mirhoseini, Goldie et al., ICLR 2018, whose plain feed-forward policy is the nearest published thing.
    """

    def __init__(self, n_features: int, n_devices: int, hidden: int, tanh_constant: float) -> None:
        """Build the layers; a positive `tanh_constant` bounds the logits."""
        super().__init__()
        self._tanh_constant = tanh_constant
        self.layers = mlp(n_features, hidden, n_devices, 3)

    def forward(self, x: Tensor, allowed: BoolArray, noise: FloatArray | None = None) -> Tensor:
        """Return log probabilities `[S, K, D]` of groups `[S, K, F]`."""
        logits: Tensor = self.layers(x)
        if self._tanh_constant:
            logits = self._tanh_constant * torch.tanh(logits)
        if noise is not None:
            logits = logits + torch.from_numpy(noise).to(logits.dtype)
        return torch.log_softmax(logits.masked_fill(torch.from_numpy(~allowed), float("-inf")), dim=2)

    @torch.no_grad()
    def draw(
        self,
        x: Tensor,
        allowed: BoolArray,
        uniforms: FloatArray,
        noise: FloatArray | None = None,
        chance: FloatArray | None = None,
    ) -> IntArray:
        """Return drawn devices `[S, K]`; arguments as in `Head`."""
        p = self(x, allowed, noise).double().exp().numpy()
        weight = np.zeros((1, 1, 1)) if chance is None else chance[:, None, None]
        return by_probability((1 - weight) * p + weight * allowed / allowed.sum(axis=2, keepdims=True), uniforms)

    @torch.no_grad()
    def greedy(self, x: Tensor, allowed: BoolArray) -> IntArray:
        """Return the likeliest devices `[S, K]`."""
        return np.asarray(self(x, allowed).argmax(dim=2).numpy(), dtype=np.int64)

    def log_p(self, x: Tensor, allowed: BoolArray, devices: IntArray) -> tuple[Tensor, Tensor]:
        """Return the log probability of devices `[S, K]`, `[S]`, and the mean entropy of a group's device, nats."""
        log_p = self(x, allowed)
        entropy = -(log_p.exp() * log_p.clamp(min=-50.0)).sum(dim=2).mean()  # 0 times -inf is no number
        return log_p.gather(2, torch.from_numpy(devices)[:, :, None]).sum(dim=(1, 2)), entropy
