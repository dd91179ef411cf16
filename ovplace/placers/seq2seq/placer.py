"""Sequence to sequence: an LSTM with attention gives one group after another a device, and learns from latency."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log

import numpy as np
import torch
from torch import Tensor, nn

from ovplace.core.problem import Problem
from ovplace.graphs.op_graph import FloatArray, IntArray
from ovplace.learning.checkpoint import seeded
from ovplace.learning.nodes import Nodes
from ovplace.learning.reinforce import SampledPolicy
from ovplace.placers._base.policy_gradient import PolicyGradientPlacer, PolicyGradientSettings
from ovplace.placers.seq2seq.network import Seq2Seq, Seq2SeqSettings
from ovplace.seeds import generator

SUMMARY = "Mirhoseini et al. (ICML 2017): an LSTM with attention places one group after another, learned by REINFORCE"

PRESETS: Mapping[str, Mapping[str, object]] = {
    "tuned": {},
    "paper": {
        "hidden": 128, "attention": 128, "bidirectional": False, "aligned": False, "switches": 0.0, "samples": 10,
        "signal": "sqrt", "failing": 100.0, "baseline": "failure", "decay": 0.9, "late": 5000, "normalised": False,
        "learning_rate": 1e-3, "epochs": 1, "clip": 0.0, "entropy": 0.0, "entropy_end": 0.0, "max_grad_norm": 1.0,
        "uniform": False, "redraws": 0,
    },
}  # fmt: skip
"""Values that differ from the defaults. `paper`: `configs/placers/seq2seq.toml` says which of them are published."""


@dataclass(frozen=True)
class Config(Seq2SeqSettings, PolicyGradientSettings):
    """Settings beside those of the network and of learning; those of a preset apply where nothing else is said.

    Attributes:
        preset: `paper` is the published method, `tuned` what finds good placements in few measurements.
        switches: how often, about, the first draws change the device along the order: a learned inclination to stay on
            the device of the group before begins there; 0 does without.
        type_size: size of a type's learned embedding.
        adjacency: columns, at most, of a group's inputs, and of its outputs; in larger graphs neighbouring groups share
            one.
    """

    preset: str = "tuned"
    samples: int = 5
    learning_rate: float = 1e-2
    entropy: float = 0.01
    switches: float = 4.0
    type_size: int = 64
    adjacency: int = 256

    def __post_init__(self) -> None:
        """Check choices and ranges."""
        Seq2SeqSettings.__post_init__(self)
        PolicyGradientSettings.__post_init__(self)
        if self.preset not in PRESETS:
            raise ValueError(f"preset must be one of {', '.join(PRESETS)}, got '{self.preset}'")
        if self.switches < 0:
            raise ValueError(f"switches must be at least 0, got {self.switches}")
        if min(self.type_size, self.adjacency) < 1:
            raise ValueError(f"type_size and adjacency must be at least 1, got {self.type_size} and {self.adjacency}")


class Policy(SampledPolicy):
    """The network on the groups of one problem, in topological order.

    A group is described by the learned embedding of its members' types, the shapes of its outputs in a list of fixed
    size, its inputs and outputs among the groups, and the features that the user names.

    Source: Mirhoseini et al., ICML 2017, arXiv 1706.04972, section 3.2.
    """

    def __init__(self, problem: Problem, config: Config) -> None:
        """Build the network; the description of the groups is no part of the weights."""
        super().__init__()
        nodes, self._order = Nodes.of(problem), problem.group_order
        described = np.concatenate([nodes.outputs, nodes.extra, adjacency(problem, config.adjacency)], axis=1)
        self._allowed = problem.allowed[None, self._order]
        self._shares = _tensor((nodes.counts / nodes.counts.sum(axis=1, keepdims=True))[self._order])
        self._described = _tensor(described[self._order])
        self.types = nn.Linear(nodes.counts.shape[1], config.type_size, bias=False)
        stay = inclination(problem.n_groups, len(problem.devices), config.switches)
        self.network = Seq2Seq(config.type_size + described.shape[1], len(problem.devices), config, stay)

    def draw(self, rngs: Sequence[np.random.Generator], update: int, chance: FloatArray) -> IntArray:
        """Return a device for each group in the order of decision, `[K, G]`."""
        uniforms = np.stack([rng.random(len(self._order)) for rng in rngs])
        return self.network.draw(self._x(), self._allowed, uniforms, chance=chance)

    def choices(self, actions: IntArray) -> IntArray:
        """Return a device for each group in the problem's order, `[K, G]`."""
        choices = np.empty_like(actions)
        choices[:, self._order] = actions
        return choices

    def log_p(self, actions: IntArray) -> tuple[Tensor, Tensor]:
        """Return log probabilities `[K]` and the mean entropy of a decision."""
        return self.network.log_p(self._x(), self._allowed, actions)

    def _x(self) -> Tensor:
        """Return the description of the groups, `[1, G, F]`."""
        return torch.cat([self.types(self._shares), self._described], dim=1)[None]


class Placer(PolicyGradientPlacer):
    """Measures what the policy draws, and teaches it."""

    def __init__(self, problem: Problem, config: Config) -> None:
        """Build the policy."""
        seed = int(generator(problem.seed, "placer", "seq2seq", "weights").integers(2**31))
        super().__init__(problem, seeded(lambda: Policy(problem, config), seed), config, "seq2seq")


def inclination(groups: int, devices: int, switches: float) -> float | None:
    """Return the logit of staying with which a chain of groups changes device so often on average; at least even odds.

    All other devices have logit 0: a step changes with probability (D - 1) / (exp(stay) + D - 1).
    """
    if not switches:
        return None
    return log(max(1.0, (devices - 1) * ((groups - 1) / switches - 1)))


def adjacency(problem: Problem, columns: int) -> FloatArray:
    """Return which groups each group reads, and which read it, by their places in the order, `[G, 2 C]`.

    C is the number of groups, up to `columns`: in larger graphs a column stands for neighbours in the order.
    """
    n, (source, target) = problem.n_groups, problem.quotient.edges
    width = min(n, columns)
    column = np.empty(n, dtype=np.int64)
    column[problem.group_order] = np.arange(n) * width // max(n, 1)
    table = np.zeros((n, 2 * width))
    table[target, column[source]] = 1.0
    table[source, width + column[target]] = 1.0
    return table


def _tensor(values: FloatArray) -> Tensor:
    return torch.from_numpy(values).float()
