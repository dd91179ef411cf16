"""Policy of the placer `seq2seq`: the network and the description of a problem's groups.

Source: Mirhoseini et al., ICML 2017, arXiv 1706.04972, section 3.2.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log

import numpy as np
import torch
from torch import Tensor, nn

from ovplace.core.problem import Problem
from ovplace.graphs.op_graph import FloatArray, IntArray
from ovplace.learning.group_features import GroupFeatures
from ovplace.learning.reinforce import SampledPolicy
from ovplace.placers.seq2seq.config import Config
from ovplace.placers.seq2seq.network import Seq2Seq


class Seq2SeqPolicy(SampledPolicy):
    """The network applied to the groups of one problem in topological order.

    A group is described by the learned embedding of its members' types, the shapes of its outputs in a list of fixed
    size, its adjacency, and the node features chosen by the user.
    """

    def __init__(self, problem: Problem, config: Config) -> None:
        """Build the network; the description of the groups is not part of the weights.

        Args:
            problem: the problem, whose groups are described.
            config: sizes and kinds of layers.
        """
        super().__init__()
        groups, self._order = GroupFeatures.of(problem), problem.group_order
        described = np.concatenate([groups.outputs, groups.extra, adjacency(problem, config.adjacency)], axis=1)
        self._allowed = problem.allowed[None, self._order]
        self._shares = _tensor(groups.type_shares[self._order])
        self._described = _tensor(described[self._order])
        self.types = nn.Linear(groups.counts.shape[1], config.type_size, bias=False)
        stay = stay_bias(problem.n_groups, len(problem.devices), config.switches)
        self.network = Seq2Seq(config.type_size + described.shape[1], len(problem.devices), config, stay)

    def draw(self, rngs: Sequence[np.random.Generator], update: int, exploration_rate: FloatArray) -> IntArray:
        """Return a device for each group in the order of decision, `[K, G]`; arguments as in `SampledPolicy`."""
        uniforms = np.stack([rng.random(len(self._order)) for rng in rngs])
        return self.network.draw(self._x(), self._allowed, uniforms, exploration_rate=exploration_rate)

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


def stay_bias(groups: int, devices: int, switches: float) -> float | None:
    """Return the logit of the previous device for a given expected number of changes, at least 0.

    All other devices have logit 0: a step changes with probability (D - 1) / (exp(bias) + D - 1).

    Args:
        groups: length of the sequence G.
        devices: number of devices D.
        switches: expected number of device changes; 0 for no bias.

    Returns:
        The logit, or None for no bias.
    """
    if not switches:
        return None
    return log(max(1.0, (devices - 1) * ((groups - 1) / switches - 1)))


def adjacency(problem: Problem, columns: int) -> FloatArray:
    """Return predecessors and successors of each group by their position in the order.

    Args:
        problem: the placement problem.
        columns: limit on the number of columns C; in larger graphs adjacent groups in the order share one.

    Returns:
        0 or 1, `[G, 2 C]`.
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
