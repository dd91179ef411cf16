"""A fully connected network that sorts nodes into groups, and a network that gives each group a device.

Nodes are the groups of a problem, which are placed as one; groups are drawn here, K of them, some of them empty.
Source: Mirhoseini, Goldie et al., "A hierarchical model for device placement", ICLR 2018, section 2; sizes as in the
published code (TensorFlow 1.x, `grappler/hierarchical_controller.py`).
`docs/explanation/systems/hierarchical.md` says what was filled in.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor, nn

from ovplace.graphs.op_graph import BoolArray, FloatArray, IntArray
from ovplace.learning.encoder import mlp
from ovplace.learning.nodes import Nodes
from ovplace.learning.reinforce import SampledPolicy
from ovplace.learning.sampling import by_probability


@dataclass(frozen=True)
class GrouperSettings:
    """Sizes of the grouper, and how groupings and placements are drawn.

    Attributes:
        groups: number of groups, at most that of the nodes; 0 for 20 a device, 256 at most.
        group_hidden: units of the grouper's only hidden layer.
        type_size: size of an operation type's embedding.
        sharpness: factor of the grouper's logits; the higher, the more are nodes that are alike in one group at first.
        noise: deviation of what is added to the logits of the devices, in the first updates.
        noise_updates: number of these updates.
        draws: updates after which the likeliest is taken instead of drawing; 0 for never.
    """

    groups: int = 8
    group_hidden: int = 64
    type_size: int = 20
    sharpness: float = 10.0
    noise: float = 0.0
    noise_updates: int = 0
    draws: int = 0

    def __post_init__(self) -> None:
        """Check ranges."""
        for name in ("groups", "noise", "noise_updates", "draws"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} must be at least 0, got {getattr(self, name)}")
        for name in ("group_hidden", "type_size"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")
        if self.sharpness <= 0:
            raise ValueError(f"sharpness must be positive, got {self.sharpness}")


class Head(Protocol):
    """Gives each of K groups a device, in each of S samples: what `Seq2Seq` is."""

    def draw(
        self, x: Tensor, allowed: BoolArray, uniforms: FloatArray, noise: FloatArray | None, chance: FloatArray | None
    ) -> IntArray:
        """Return drawn devices `[S, K]`.

        Args:
            x: groups, `[S, K, F]`.
            allowed: which device each may have, `[S, K, D]`.
            uniforms: what to draw by, `[S, K]`.
            noise: added to the logits, `[S, K, D]`.
            chance: weight of equal probabilities, `[S]`.
        """
        ...

    def greedy(self, x: Tensor, allowed: BoolArray) -> IntArray:
        """Return the likeliest devices `[S, K]`."""
        ...

    def log_p(self, x: Tensor, allowed: BoolArray, devices: IntArray) -> tuple[Tensor, Tensor]:
        """Return the log probability of devices `[S, K]`, `[S]`, and the mean entropy of a decision, nats."""
        ...


class GroupedPolicy(SampledPolicy):
    """Sorts nodes into groups and groups onto devices; its actions are groups of nodes, then devices of groups.

    Args:
        nodes: what is placed, N of them.
        n_devices: number of devices D.
        settings: sizes and schedules.
        head: builds the network that places groups, from the number of their features.
    """

    def __init__(
        self, nodes: Nodes, n_devices: int, settings: GrouperSettings, head: Callable[[int], nn.Module]
    ) -> None:
        """Build the layers; the description of the nodes is no part of the weights."""
        super().__init__()
        self._nodes, self._settings = nodes, settings
        self.n_groups = min(settings.groups or min(256, 20 * n_devices), len(nodes))
        self._shares = _tensor(nodes.counts / nodes.counts.sum(axis=1, keepdims=True))
        self._others = _tensor(_standard(np.concatenate([nodes.outputs, nodes.neighbours, nodes.extra], axis=1)))
        self._summed = _tensor(np.concatenate([nodes.counts, np.maximum(nodes.outputs, 0.0)], axis=1))
        self.types = nn.Linear(nodes.counts.shape[1], settings.type_size, bias=False)
        width = settings.type_size + self._others.shape[1]
        self.grouper = mlp(width, settings.group_hidden, self.n_groups, 2)
        self.head: Any = head(self._summed.shape[1] + self.n_groups)

    def forward(self) -> Tensor:
        """Return the log probability of each group for each node, `[N, K]`."""
        x = torch.cat([self.types(self._shares), self._others], dim=1)
        return torch.log_softmax(self._settings.sharpness * self.grouper(x), dim=1)

    @torch.no_grad()
    def draw(self, rngs: Sequence[np.random.Generator], update: int, chance: FloatArray) -> IntArray:
        """Return actions `[S, N + K]`; arguments as in `SampledPolicy`."""
        settings, p = self._settings, self().double().exp().numpy()
        if settings.draws and update >= settings.draws:
            groups = np.repeat(p.argmax(axis=1)[None], len(rngs), axis=0)
            return np.concatenate([groups, self.head.greedy(*self.view(groups))], axis=1)
        rows = zip(chance, rngs, strict=True)
        groups = np.stack([by_probability(_even(p, share), rng.random(len(p))) for share, rng in rows])
        x, allowed = self.view(groups)
        noise = None
        if settings.noise and update < settings.noise_updates:
            noise = settings.noise * np.stack([rng.standard_normal(allowed.shape[1:]) for rng in rngs])
        uniforms = np.stack([rng.random(self.n_groups) for rng in rngs])
        return np.concatenate([groups, self.head.draw(x, allowed, uniforms, noise, chance)], axis=1)

    def choices(self, actions: IntArray) -> IntArray:
        """Return the device of each node, `[S, N]`."""
        groups, devices = self._parts(actions)
        return np.take_along_axis(devices, groups, axis=1)

    def log_p(self, actions: IntArray) -> tuple[Tensor, Tensor]:
        """Return the log probability of actions `[S, N + K]`, `[S]`, and the mean entropy of a decision, nats.

        The entropy is the mean of the nodes' plus the mean of the groups'. Source: ICLR 2018: the advantage multiplies
        the log probability of the grouping and that of the placement of the groups.
        """
        groups, devices = self._parts(actions)
        table = self()
        of_devices, entropy = self.head.log_p(*self.view(groups), devices)
        of_groups = table[torch.arange(len(table)), torch.from_numpy(groups)].sum(dim=1)
        return of_groups + of_devices, entropy - (table.exp() * table).sum(dim=1).mean()

    def _parts(self, actions: IntArray) -> tuple[IntArray, IntArray]:
        return actions[:, : len(self._nodes)], actions[:, len(self._nodes) :]

    def view(self, groups: IntArray) -> tuple[Tensor, BoolArray]:
        """Return what the placer sees of groups of nodes `[S, N]`: features `[S, K, F]`, allowed devices `[S, K, D]`.

        Features are types counted, output shapes summed, and edges to each group counted, all as a fraction of the
        model's logarithm. A device is allowed that can run some of the nodes: the others of the group go to their
        first device. An empty group has no choice: what it would draw says nothing about the placement.
        """
        samples, k = len(groups), self.n_groups
        flat = groups + k * np.arange(samples)[:, None]
        rows = torch.from_numpy(flat.ravel())
        total = self._summed.new_zeros(samples * k, self._summed.shape[1])
        total.index_add_(0, rows, self._summed.repeat(samples, 1))
        source, target = self._nodes.edges
        pairs = flat[:, source] * k + groups[:, target]
        adjacency = _tensor(np.bincount(pairs.ravel(), minlength=samples * k * k).reshape(-1, k))
        x = torch.cat([_fraction(total, self._summed.sum(dim=0)), _fraction(adjacency, adjacency.sum() / samples)], 1)
        able = np.zeros((samples * k, self._nodes.allowed.shape[1]), dtype=bool)
        np.logical_or.at(able, flat.ravel(), np.tile(self._nodes.allowed, (samples, 1)))
        able[~able.any(axis=1), 0] = True
        return x.reshape(samples, k, -1), able.reshape(samples, k, -1)


def _even(p: FloatArray, share: float) -> FloatArray:
    return np.asarray((1 - share) * p + share / p.shape[1])


def _tensor(values: FloatArray | IntArray) -> Tensor:
    return torch.from_numpy(np.ascontiguousarray(values, dtype=np.float32))


def _standard(columns: FloatArray) -> FloatArray:
    """Return columns with mean 0 and deviation 1; constant ones are 0."""
    centred = columns - columns.mean(axis=0)
    deviation = columns.std(axis=0)
    return np.asarray(centred / np.where(deviation > 1e-9, deviation, 1.0))


def _fraction(part: Tensor, whole: Tensor) -> Tensor:
    return torch.log1p(part) / torch.log1p(whole).clamp(min=1.0)
