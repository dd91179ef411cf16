"""Device head that scores each pair of a group and a device by the same network, from their costs.

Not in HSDAG, whose classifier (equation 12) knows a device by its index only. Source of the iteration: Zheng et al.,
"Conditional random fields as recurrent neural networks", ICCV 2015.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from ovplace.graphs.op_graph import FloatArray
from ovplace.learning.layers import mlp
from ovplace.placers.hsdag.network.pair_costs import FEATURES, PairCosts

EDGE_FEATURES = 5
"""Inputs of a message along an edge in addition to the state of the pair at its other end."""

ROUND_FEATURES = 2
"""Inputs of a pair from the present scores: excess of its expected cost, and its probability."""


class DeviceHead(nn.Module):
    """Scores pairs in rounds of learned mean-field inference.

    In each round a pair receives its expected cost under its neighbours' present probabilities, and messages from the
    same device at its neighbours. All weights are shared between devices and between rounds: no shape depends on the
    number of devices, and a permutation of devices permutes the scores.
    """

    def __init__(self, width: int, hidden: int, rounds: int) -> None:
        """Build the head.

        Args:
            width: size of group embeddings H.
            hidden: size of a pair's state h.
            rounds: number of rounds.
        """
        super().__init__()
        self.rounds = rounds
        self.of_pair, self.of_group = mlp(FEATURES, hidden, hidden, 2), nn.Linear(width, hidden)
        self.messages = nn.ModuleList(mlp(hidden + EDGE_FEATURES, hidden, hidden, 2) for _ in range(2))
        self.norm = nn.LayerNorm(hidden)
        self.step = mlp(6 * hidden + ROUND_FEATURES, hidden, hidden, 2)
        self.score = nn.Linear(hidden, 1)

    def forward(self, z: Tensor, pairs: PairCosts) -> Tensor:
        """Return the score of each device for each group.

        Args:
            z: group embeddings, `[C, H]`.
            pairs: costs of the groups.

        Returns:
            Scores, minus infinity where a group cannot run, `[C, D]`.
        """
        inputs = _Inputs.of(pairs, z.dtype)
        first = self.of_pair(inputs.features) + self.of_group(z)[:, None, :]
        state = self.norm(first)
        for _ in range(self.rounds):
            state = self.norm(state + self._change(state, first, inputs))
        return self._scores(state, inputs)

    def _scores(self, state: Tensor, inputs: _Inputs) -> Tensor:
        found: Tensor = self.score(state).squeeze(2).masked_fill(~inputs.allowed, float("-inf"))
        return found

    def _change(self, state: Tensor, first: Tensor, inputs: _Inputs) -> Tensor:
        p = torch.softmax(self._scores(state, inputs), dim=1)
        received = [self._messages_to(end, state, p, inputs) for end in (0, 1)]
        expected = inputs.work + received[0][1] + received[1][1]
        best = expected.masked_fill(~inputs.allowed, float("inf")).min(dim=1, keepdim=True).values
        excess = torch.log1p(torch.relu(expected - best))
        seen = torch.stack([excess, p], dim=2)
        others = (state * p[:, :, None]).sum(dim=1, keepdim=True).expand_as(state)
        parts = [state, first, received[0][0], received[1][0], _pooled(state, inputs), others, seen]
        change: Tensor = self.step(torch.cat(parts, dim=2))
        return change

    def _messages_to(self, end: int, state: Tensor, p: Tensor, inputs: _Inputs) -> tuple[Tensor, Tensor]:
        """Return summed messages to the groups at this end of edges, `[C, D, h]`, and the edges' expected cost."""
        own, other = inputs.edges[end], inputs.edges[1 - end]
        # From this group's device to the neighbour's: rows are devices of the edge's source.
        passing = inputs.transfer if end == 0 else inputs.transfer.transpose(1, 2)
        expected = (passing * p[other][:, None, :]).sum(dim=2)
        kept = inputs.saving * p[other]
        about = [torch.log1p(expected), torch.log1p(kept), inputs.mean_transfer[end], inputs.saved, p[other]]
        message = self.messages[end](torch.cat([state[other], torch.stack(about, dim=2)], dim=2))
        zero = torch.zeros_like(state)
        costs = torch.zeros_like(p).index_add(0, own, expected - kept)
        return zero.index_add(0, own, torch.relu(message)), costs


@dataclass(frozen=True, eq=False)
class _Inputs:
    """`PairCosts` as tensors; `saved` and `mean_transfer` are log(1 + cost) of each edge, `[Q, D]`."""

    features: Tensor
    work: Tensor
    allowed: Tensor
    edges: Tensor
    transfer: Tensor
    saving: Tensor
    saved: Tensor
    mean_transfer: tuple[Tensor, Tensor]
    graph_of: Tensor
    n_graphs: int

    @classmethod
    def of(cls, pairs: PairCosts, kind: torch.dtype) -> _Inputs:
        return cls(
            features=torch.from_numpy(pairs.features()).to(kind),
            work=torch.from_numpy(pairs.work).to(kind),
            allowed=torch.from_numpy(pairs.allowed),
            edges=torch.from_numpy(pairs.edges),
            transfer=torch.from_numpy(pairs.transfer).to(kind),
            saving=torch.from_numpy(pairs.saving).to(kind),
            saved=_log1p(pairs.saving, kind),
            mean_transfer=(_log1p(pairs.leave, kind), _log1p(pairs.enter, kind)),
            graph_of=torch.from_numpy(pairs.graph_of),
            n_graphs=pairs.n_graphs,
        )


def _log1p(costs: FloatArray, kind: torch.dtype) -> Tensor:
    return torch.log1p(torch.from_numpy(costs).to(kind))


def _pooled(state: Tensor, inputs: _Inputs) -> Tensor:
    """Return the mean state of each device over a graph, repeated for all its groups, `[C, D, h]`."""
    total = state.new_zeros(inputs.n_graphs, *state.shape[1:]).index_add(0, inputs.graph_of, state)
    count = torch.bincount(inputs.graph_of, minlength=inputs.n_graphs).to(state.dtype)
    return (total / count[:, None, None])[inputs.graph_of]
