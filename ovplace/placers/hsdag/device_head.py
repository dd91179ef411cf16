"""Chooses devices by what they are: each pair of a group and a device is scored by one and the same network."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from ovplace.graphs.op_graph import FloatArray
from ovplace.learning.encoder import mlp
from ovplace.placers.hsdag.pairs import FEATURES, Pairs

EDGE_FEATURES = 5
"""What a message along an edge knows beside the state of the pair at its other end."""

ROUND_FEATURES = 2
"""What a pair sees of the present scores: how much it would cost, and its probability."""


class DeviceHead(nn.Module):
    """Scores pairs in rounds, in which neighbours tell each other what they are about to choose.

    A round is a learned step of mean-field inference: each pair sees what it would cost in expectation if its
    neighbours chose by their present probabilities, and messages from the same device at its neighbours. All weights
    are shared between devices and between rounds, so that no shape depends on the number of devices, and permuted
    devices give permuted scores.

    Source of the idea: Zheng et al., "Conditional random fields as recurrent neural networks", ICCV 2015; the device as
    an input instead of a class: not in HSDAG, whose classifier knows devices by number alone.
    """

    def __init__(self, width: int, hidden: int, rounds: int) -> None:
        """Build the head for group embeddings of size `width` and pair states of size `hidden`."""
        super().__init__()
        self.rounds = rounds
        self.of_pair, self.of_group = mlp(FEATURES, hidden, hidden, 2), nn.Linear(width, hidden)
        self.messages = nn.ModuleList(mlp(hidden + EDGE_FEATURES, hidden, hidden, 2) for _ in range(2))
        self.norm = nn.LayerNorm(hidden)
        self.step = mlp(6 * hidden + ROUND_FEATURES, hidden, hidden, 2)
        self.score = nn.Linear(hidden, 1)

    def forward(self, z: Tensor, pairs: Pairs) -> Tensor:
        """Return scores `[C, D]` of groups with embeddings `[C, H]`, minus infinity where a group cannot run."""
        given = _Given.of(pairs, z.dtype)
        first = self.of_pair(given.features) + self.of_group(z)[:, None, :]
        state = self.norm(first)
        for _ in range(self.rounds):
            state = self.norm(state + self._change(state, first, given))
        return self._scores(state, given)

    def _scores(self, state: Tensor, given: _Given) -> Tensor:
        found: Tensor = self.score(state).squeeze(2).masked_fill(~given.allowed, float("-inf"))
        return found

    def _change(self, state: Tensor, first: Tensor, given: _Given) -> Tensor:
        p = torch.softmax(self._scores(state, given), dim=1)
        near = [self._heard(end, state, p, given) for end in (0, 1)]
        expected = given.work + near[0][1] + near[1][1]
        best = expected.masked_fill(~given.allowed, float("inf")).min(dim=1, keepdim=True).values
        excess = torch.log1p(torch.relu(expected - best))
        seen = torch.stack([excess, p], dim=2)
        others = (state * p[:, :, None]).sum(dim=1, keepdim=True).expand_as(state)
        inputs = [state, first, near[0][0], near[1][0], _pooled(state, given), others, seen]
        change: Tensor = self.step(torch.cat(inputs, dim=2))
        return change

    def _heard(self, end: int, state: Tensor, p: Tensor, given: _Given) -> tuple[Tensor, Tensor]:
        """Return what groups hear along the edges that have them at one end, `[C, D, h]`, and those edges' cost."""
        own, other = given.edges[end], given.edges[1 - end]
        # From this group's device to the neighbour's: rows are devices of the edge's source.
        passing = given.transfer if end == 0 else given.transfer.transpose(1, 2)
        expected = (passing * p[other][:, None, :]).sum(dim=2)
        kept = given.saving * p[other]
        about = [torch.log1p(expected), torch.log1p(kept), given.dear[end], given.saved, p[other]]
        message = self.messages[end](torch.cat([state[other], torch.stack(about, dim=2)], dim=2))
        zero = torch.zeros_like(state)
        costs = torch.zeros_like(p).index_add(0, own, expected - kept)
        return zero.index_add(0, own, torch.relu(message)), costs


@dataclass(frozen=True, eq=False)
class _Given:
    """`Pairs` as tensors; what the ends of an edge know of it without asking, `[Q, D]`, is damped."""

    features: Tensor
    work: Tensor
    allowed: Tensor
    edges: Tensor
    transfer: Tensor
    saving: Tensor
    saved: Tensor
    dear: tuple[Tensor, Tensor]
    graph_of: Tensor
    n_graphs: int

    @classmethod
    def of(cls, pairs: Pairs, kind: torch.dtype) -> _Given:
        return cls(
            features=torch.from_numpy(pairs.features()).to(kind),
            work=torch.from_numpy(pairs.work).to(kind),
            allowed=torch.from_numpy(pairs.allowed),
            edges=torch.from_numpy(pairs.edges),
            transfer=torch.from_numpy(pairs.transfer).to(kind),
            saving=torch.from_numpy(pairs.saving).to(kind),
            saved=_damped(pairs.saving, kind),
            dear=(_damped(pairs.leave, kind), _damped(pairs.enter, kind)),
            graph_of=torch.from_numpy(pairs.graph_of),
            n_graphs=pairs.n_graphs,
        )


def _damped(costs: FloatArray, kind: torch.dtype) -> Tensor:
    return torch.log1p(torch.from_numpy(costs).to(kind))


def _pooled(state: Tensor, given: _Given) -> Tensor:
    """Return the mean state of each device over each graph, given to all groups of the graph, `[C, D, h]`."""
    total = state.new_zeros(given.n_graphs, *state.shape[1:]).index_add(0, given.graph_of, state)
    count = torch.bincount(given.graph_of, minlength=given.n_graphs).to(state.dtype)
    return (total / count[:, None, None])[given.graph_of]
