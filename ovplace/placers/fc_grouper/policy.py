"""Policy of two networks: a fully connected grouper, and a head that gives each group a device.

Nodes are the groups of the problem; groups are the K groups drawn here, some of which may be empty.

Source: Mirhoseini, Goldie et al., "A hierarchical model for device placement", ICLR 2018, section 2; sizes as in the
published code (TensorFlow 1.x, `grappler/hierarchical_controller.py`). `docs/explanation/systems/hierarchical.md` lists
what was filled in.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor, nn

from ovplace.graphs.op_graph import BoolArray, FloatArray, IntArray
from ovplace.learning.group_features import GroupFeatures
from ovplace.learning.layers import mlp
from ovplace.learning.objectives import perturbed
from ovplace.learning.reinforce import SampledPolicy
from ovplace.learning.sampling import sample_categorical
from ovplace.placers.fc_grouper.config import GrouperSettings


class PlacementHead(Protocol):
    """Gives each of K groups a device in each of S samples; `FeedForward` and `Seq2Seq` are two."""

    def draw(
        self,
        x: Tensor,
        allowed: BoolArray,
        uniforms: FloatArray,
        noise: FloatArray | None,
        exploration_rate: FloatArray | None,
    ) -> IntArray:
        """Draw devices.

        Args:
            x: features of the groups, `[S, K, F]`.
            allowed: which device each may have, `[S, K, D]`.
            uniforms: a number from [0, 1) for each draw, `[S, K]`.
            noise: added to the logits in units of a group's root mean square, `[S, K, D]`.
            exploration_rate: weight of the uniform distribution over allowed devices in the mixture, `[S]`.

        Returns:
            The devices, `[S, K]`.
        """
        ...

    def greedy(self, x: Tensor, allowed: BoolArray) -> IntArray:
        """Return the most probable devices, `[S, K]`.

        Args:
            x: features of the groups, `[S, K, F]`.
            allowed: which device each may have, `[S, K, D]`.
        """
        ...

    def log_p(self, x: Tensor, allowed: BoolArray, devices: IntArray) -> tuple[Tensor, Tensor]:
        """Return the log probability of a placement, and the entropy of its decisions.

        Args:
            x: features of the groups, `[S, K, F]`.
            allowed: which device each may have, `[S, K, D]`.
            devices: the placement, `[S, K]`.

        Returns:
            Log probabilities `[S]`, and the mean entropy of a decision, nats.
        """
        ...


class GroupedPolicy(SampledPolicy):
    """Assigns nodes to groups and groups to devices; its actions are the groups of nodes, then the devices of groups.

    Attributes:
        n_groups: number of groups K.
    """

    def __init__(
        self, nodes: GroupFeatures, n_devices: int, settings: GrouperSettings, head: Callable[[int], nn.Module]
    ) -> None:
        """Build the layers; the description of the nodes is not part of the weights.

        Args:
            nodes: the N nodes to place.
            n_devices: number of devices D.
            settings: sizes and schedules.
            head: builds the `PlacementHead` from the number of features of a group.
        """
        super().__init__()
        self._nodes, self._settings = nodes, settings
        self.n_groups = min(settings.groups or min(256, 20 * n_devices), len(nodes))
        self._shares = _tensor(nodes.type_shares)
        self._others = _tensor(_standard(np.concatenate([nodes.outputs, nodes.neighbours, nodes.extra], axis=1)))
        self._summed = _tensor(np.concatenate([nodes.counts, np.maximum(nodes.outputs, 0.0)], axis=1))
        self.types = nn.Linear(nodes.counts.shape[1], settings.type_size, bias=False)
        width = settings.type_size + self._others.shape[1]
        self.grouper = mlp(width, settings.group_hidden, self.n_groups, 2)
        self.head: Any = head(self._summed.shape[1] + self.n_groups)

    def forward(self) -> Tensor:
        """Return the log probability of each group for each node, `[N, K]`."""
        return torch.log_softmax(self._logits(), dim=1)

    def _logits(self) -> Tensor:
        x = torch.cat([self.types(self._shares), self._others], dim=1)
        logits: Tensor = self._settings.sharpness * self.grouper(x)
        return logits

    @torch.no_grad()
    def draw(self, rngs: Sequence[np.random.Generator], update: int, exploration_rate: FloatArray) -> IntArray:
        """Return actions `[S, N + K]`; arguments as in `SampledPolicy`."""
        settings, logits = self._settings, self._logits().double()
        if settings.draws and update >= settings.draws:
            groups = np.repeat(logits.argmax(dim=1).numpy()[None], len(rngs), axis=0)
            return np.concatenate([groups, self.head.greedy(*self.head_inputs(groups))], axis=1)
        noise_size = settings.noise if update < settings.noise_updates else 0.0
        rows = zip(exploration_rate, rngs, strict=True)
        groups = np.stack([_grouped(logits, noise_size, rate, rng) for rate, rng in rows])
        x, allowed = self.head_inputs(groups)
        noise = None
        if noise_size:
            noise = noise_size * np.stack([rng.standard_normal(allowed.shape[1:]) for rng in rngs])
        uniforms = np.stack([rng.random(self.n_groups) for rng in rngs])
        return np.concatenate([groups, self.head.draw(x, allowed, uniforms, noise, exploration_rate)], axis=1)

    def choices(self, actions: IntArray) -> IntArray:
        """Return the device of each node, `[S, N]`."""
        groups, devices = self._parts(actions)
        return np.take_along_axis(devices, groups, axis=1)

    def log_p(self, actions: IntArray) -> tuple[Tensor, Tensor]:
        """Return the log probability of actions `[S, N + K]`, `[S]`, and the mean entropy of a decision, nats.

        The entropy is the sum of the mean over nodes and the mean over groups.

        Source: ICLR 2018: the advantage multiplies the log probabilities of both the grouping and the placement.
        """
        groups, devices = self._parts(actions)
        table = self()
        of_devices, entropy = self.head.log_p(*self.head_inputs(groups), devices)
        of_groups = table[torch.arange(len(table)), torch.from_numpy(groups)].sum(dim=1)
        return of_groups + of_devices, entropy - (table.exp() * table).sum(dim=1).mean()

    def _parts(self, actions: IntArray) -> tuple[IntArray, IntArray]:
        return actions[:, : len(self._nodes)], actions[:, len(self._nodes) :]

    def head_inputs(self, groups: IntArray) -> tuple[Tensor, BoolArray]:
        """Return the inputs of the head for a grouping.

        Features are the counts of types, the sums of output shapes and the counts of edges to each group, each as
        log(1 + part) / max(1, log(1 + whole model)). A device that can run some of the nodes is allowed; the other
        nodes go to their first device. An empty group has only one device, since its choice does not affect the
        placement.

        Args:
            groups: group of each node, `[S, N]`.

        Returns:
            Features `[S, K, F]` and allowed devices `[S, K, D]`.
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


def _grouped(logits: Tensor, noise_size: float, rate: float, rng: np.random.Generator) -> IntArray:
    """Return a group for each node drawn from noisy logits `[N, K]` mixed with the uniform distribution, `[N]`."""
    if noise_size:
        logits = perturbed(logits, noise_size * rng.standard_normal(logits.shape), axes=(0, 1))
    p = torch.softmax(logits, dim=1).numpy()
    return sample_categorical(_mixed(p, rate), rng.random(len(p)))


def _mixed(p: FloatArray, rate: float) -> FloatArray:
    """Return probabilities `[N, K]` mixed with uniform ones."""
    return np.asarray((1 - rate) * p + rate / p.shape[1])


def _tensor(values: FloatArray | IntArray) -> Tensor:
    return torch.from_numpy(np.ascontiguousarray(values, dtype=np.float32))


def _standard(columns: FloatArray) -> FloatArray:
    """Return columns scaled to mean 0 and standard deviation 1; constant ones become 0."""
    centred = columns - columns.mean(axis=0)
    deviation = columns.std(axis=0)
    return np.asarray(centred / np.where(deviation > 1e-9, deviation, 1.0))


def _fraction(part: Tensor, whole: Tensor) -> Tensor:
    """Return log(1 + part) / max(1, log(1 + whole))."""
    return torch.log1p(part) / torch.log1p(whole).clamp(min=1.0)
