"""The policy of HSDAG: encode, parse into groups, choose a device for each group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor, nn

from ovplace.graphs.op_graph import BoolArray, FloatArray, IntArray
from ovplace.learning.encoder import GraphLayers, mlp
from ovplace.learning.neighbours import Neighbours
from ovplace.placers.hsdag.device_head import DeviceHead
from ovplace.placers.hsdag.grouper import Grouping, Level, More, Parsed, ParsingNetwork
from ovplace.placers.hsdag.network_settings import NetworkSettings
from ovplace.placers.hsdag.pairs import Pairs
from ovplace.placers.hsdag.parsing import NONE


@dataclass(frozen=True, eq=False)
class PolicyGraph:
    """What the policy sees.

    Attributes:
        features: one row a node, `[N, F]`.
        edges: distinct directed edges between nodes, `[2, E]`.
        allowed: which device can run which node, `[N, D]`.
        pairs: what the problem's groups cost on each device; for the head `devices`.
        owner: which of these groups each node is of, `[N]`; likewise.
    """

    features: FloatArray
    edges: IntArray
    allowed: BoolArray
    pairs: Pairs | None = None
    owner: IntArray | None = None

    def __len__(self) -> int:
        """Return the number of nodes N."""
        return len(self.features)

    @cached_property
    def rows(self) -> Tensor:
        """The features, in single precision."""
        return torch.from_numpy(self.features).float()

    @cached_property
    def neighbours(self) -> Neighbours:
        """The edges as layers need them."""
        return Neighbours(self.edges, len(self))

    @classmethod
    def side_by_side(cls, parts: Sequence[PolicyGraph]) -> PolicyGraph:
        """Return several graphs as one, for the head `devices`: each may be on a machine of its own."""
        pairs = Pairs.side_by_side([part.pairs for part in parts if part.pairs is not None])
        nodes = np.cumsum([0, *(len(part) for part in parts)])
        groups = np.cumsum([0, *(len(part.pairs.work) for part in parts if part.pairs is not None)])
        d = pairs.work.shape[1]
        return cls(
            np.concatenate([part.features for part in parts]),
            np.concatenate([part.edges + start for part, start in zip(parts, nodes, strict=False)], axis=1),
            np.concatenate([np.pad(p.allowed, ((0, 0), (0, d - p.allowed.shape[1]))) for p in parts]),
            pairs,
            np.concatenate([p.owner + at for p, at in zip(parts, groups, strict=False) if p.owner is not None]),
        )


@dataclass(frozen=True, eq=False)
class Output:
    """What the policy says of one graph, or of several copies side by side.

    Attributes:
        log_p: log probability of each device for each group, `[C, D]`.
        parsed: the groups.
        z: node embeddings before grouping, `[N, H]`.
    """

    log_p: Tensor
    parsed: Parsed
    z: Tensor


class Policy(nn.Module):
    """Encoder, parsing network and a classifier of groups, trained as one.

    Source: HSDAG, arXiv 2405.14185, section 2: equation 6 (encoder), 7 to 11 (grouping), 12 (placement).
    """

    def __init__(self, n_features: int, n_devices: int, settings: NetworkSettings) -> None:
        """Build the network; weights are drawn from torch's global generator."""
        super().__init__()
        width = settings.hidden
        self.embed = mlp(n_features, width, width, settings.input_layers)
        self.norm = nn.LayerNorm(width)
        self.encoder = GraphLayers(settings.encoder, width, settings.graph_layers, settings.dropout)
        self.grouper = ParsingNetwork(settings)
        self.aware = settings.head == "devices"
        self.classify: nn.Module = (
            DeviceHead(width, settings.head_hidden, settings.head_rounds)
            if self.aware
            else mlp(width, width, n_devices, 2)
        )

    def embedded(self, graph: PolicyGraph) -> Tensor:
        """Return the features as embeddings, `[N, H]`: the same in every state, so that once is enough."""
        found: Tensor = self.embed(graph.rows.to(self.norm.weight.dtype))
        return found

    def forward(
        self,
        graph: PolicyGraph,
        state: Sequence[Tensor | None],
        grouping: Grouping,
        more: More,
        embedded: Tensor | None = None,
    ) -> Output:
        """Return groups and device probabilities for copies of a graph, one for each state.

        Args:
            graph: N nodes.
            state: added to the embedded features of each copy, `[N, H]` each; None for nothing.
            grouping: makes the parse from the scores; or known ones, to be repeated.
            more: decides after each level of it.
            embedded: what `embedded` returned, where that is known.
        """
        copies, own = len(state), self.embedded(graph) if embedded is None else embedded
        h = torch.cat([own if s is None else own + s for s in state])
        neighbours = graph.neighbours.copies(copies)
        z = self.encoder(self.norm(h), neighbours)
        parsed = self.grouper(z, neighbours, copies, grouping, more)
        allowed = group_allowed(np.tile(graph.allowed, (copies, 1)), parsed.group_of, len(parsed.z))
        logits = self._logits(graph, parsed, allowed).masked_fill(torch.from_numpy(~allowed), float("-inf"))
        return Output(torch.log_softmax(logits, dim=1), parsed, z)

    def _logits(self, graph: PolicyGraph, parsed: Parsed, allowed: BoolArray) -> Tensor:
        """Return what the head says of groups, `[C, D]`."""
        if not self.aware:
            found: Tensor = self.classify(parsed.z)
            return found
        assert graph.pairs is not None and graph.owner is not None
        copies, g = len(parsed.group_of) // len(graph), len(graph.pairs.work)
        owner = (graph.owner + g * np.arange(copies)[:, None]).reshape(-1)
        group_of = np.empty(copies * g, dtype=np.int64)
        group_of[owner] = parsed.group_of
        pairs = graph.pairs if copies == 1 else Pairs.side_by_side([graph.pairs] * copies)
        scored: Tensor = self.classify(parsed.z, pairs.merged(group_of, allowed))
        return scored

    def next_state(self, output: Output) -> Tensor:
        """Return each node's embedding plus that of its group, `[N, H]`: the state of an episode's next step.

        It is given to the next step as an observation: no gradient flows back through it, so that memory does not grow
        with the length of an episode. It replaces the state before it, and is normalised with the features it is
        added to, so that nothing piles up.

        Source: HSDAG, arXiv 2405.14185, section 2.5: Z_v + Z_v'.
        """
        return (output.z + output.parsed.z[torch.from_numpy(output.parsed.group_of)]).detach()


def group_allowed(allowed: BoolArray, group_of: IntArray, n_groups: int) -> BoolArray:
    """Return which device can run all nodes of a group, `[C, D]`; where none can, those that can run some.

    Args:
        allowed: which device can run which node, `[N, D]`.
        group_of: group of each node, `[N]`.
        n_groups: number of groups C.
    """
    every = np.ones((n_groups, allowed.shape[1]), dtype=bool)
    some = np.zeros_like(every)
    np.logical_and.at(every, group_of, allowed)
    np.logical_or.at(some, group_of, allowed)
    return np.where(every.any(axis=1, keepdims=True), every, some)


def repeated(levels: Sequence[Level]) -> Level:
    """Return the same level of several copies of a graph side by side as one."""
    groups = np.cumsum([0, *(level.n_groups for level in levels)])
    pairs = np.cumsum([0, *(level.n_pairs for level in levels)])
    return Level(
        np.concatenate([level.labels + start for level, start in zip(levels, groups, strict=False)]),
        np.concatenate([level.held + start for level, start in zip(levels, pairs, strict=False)]),
        int(groups[-1]),
        int(pairs[-1]),
        np.concatenate(
            [np.where(level.chosen == NONE, NONE, level.chosen + p) for level, p in zip(levels, pairs, strict=False)]
        ),
    )
