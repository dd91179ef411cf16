"""HSDAG's policy: encode, parse into groups, choose a device for each group.

Source: HSDAG, arXiv 2405.14185, section 2: equation 6 (encoder), 7 to 11 (grouping), 12 (placement).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor, nn

from ovplace.graphs.op_graph import BoolArray, IntArray
from ovplace.learning.layers import mlp
from ovplace.placers.hsdag.network.device_head import DeviceHead
from ovplace.placers.hsdag.network.encoder import GraphLayers
from ovplace.placers.hsdag.network.pair_costs import PairCosts
from ovplace.placers.hsdag.network.parsing_network import ContinueParsing, Grouping, Parsed, ParsingNetwork
from ovplace.placers.hsdag.network.perceptron import perceptron
from ovplace.placers.hsdag.network.policy_graph import PolicyGraph
from ovplace.placers.hsdag.network.settings import NetworkSettings


@dataclass(frozen=True, eq=False)
class PolicyOutput:
    """Output of the policy for one graph or several copies of it.

    Attributes:
        log_p: log probability of each device for each group, `[C, D]`.
        parsed: the groups.
        z: node embeddings before grouping, `[N, H]`.
    """

    log_p: Tensor
    parsed: Parsed
    z: Tensor


class HsdagPolicy(nn.Module):
    """Encoder, parsing network and device head, trained end to end."""

    def __init__(self, n_features: int, n_devices: int, settings: NetworkSettings) -> None:
        """Build the network; weights are drawn from torch's global generator.

        Args:
            n_features: columns of the graph's features F.
            n_devices: number of devices D; ignored by the head `devices`.
            settings: sizes and kinds of layers.
        """
        super().__init__()
        width = settings.hidden
        self.embed = perceptron(n_features, width, width, settings.input_layers, settings.activation)
        self.norm = nn.LayerNorm(width)
        self.encoder = GraphLayers(settings.encoder, width, settings.graph_layers, settings.dropout)
        self.grouper = ParsingNetwork(settings)
        self.output = perceptron(width, width, width, settings.output_layers, replace(settings.activation, norm=False))
        self.device_aware = settings.head == "devices"
        self.classify: nn.Module = (
            DeviceHead(width, settings.head_hidden, settings.head_rounds)
            if self.device_aware
            else mlp(width, width, n_devices, 2)
        )

    def embedded(self, graph: PolicyGraph) -> Tensor:
        """Return the embedded features, `[N, H]`; they do not depend on the state of an episode."""
        found: Tensor = self.embed(graph.rows.to(self.norm.weight.dtype))
        return found

    def forward(
        self,
        graph: PolicyGraph,
        state: Sequence[Tensor | None],
        grouping: Grouping,
        go_on: ContinueParsing,
        embedded: Tensor | None = None,
    ) -> PolicyOutput:
        """Return groups and device probabilities for copies of a graph, one for each state.

        Args:
            graph: N nodes.
            state: added to the embedded features of each copy, `[N, H]` each; None for nothing.
            grouping: forms a level of the parse from the scores; or recorded levels to repeat.
            go_on: decides after each level whether another follows.
            embedded: result of `embedded`, if known.

        Returns:
            Groups and probabilities of all copies as one disjoint union.
        """
        copies, own = len(state), self.embedded(graph) if embedded is None else embedded
        h = torch.cat([own if s is None else own + s for s in state])
        adjacency = graph.adjacency.copies(copies)
        z, parsed = self.grouper(self.norm(h), self.encoder, adjacency, grouping, go_on)
        parsed = replace(parsed, z=self.output(parsed.z))
        allowed = group_allowed(np.tile(graph.allowed, (copies, 1)), parsed.group_of, len(parsed.z))
        logits = self._logits(graph, parsed, allowed).masked_fill(torch.from_numpy(~allowed), float("-inf"))
        return PolicyOutput(torch.log_softmax(logits, dim=1), parsed, z)

    def _logits(self, graph: PolicyGraph, parsed: Parsed, allowed: BoolArray) -> Tensor:
        """Return the scores of each device for each group, `[C, D]`."""
        if not self.device_aware:
            found: Tensor = self.classify(parsed.z)
            return found
        assert graph.pair_costs is not None
        copies, g = len(parsed.group_of) // len(graph), len(graph.pair_costs.work)
        group_of_node = (graph.group_of + g * np.arange(copies)[:, None]).reshape(-1)
        group_of = np.empty(copies * g, dtype=np.int64)
        group_of[group_of_node] = parsed.group_of
        costs = graph.pair_costs if copies == 1 else PairCosts.union([graph.pair_costs] * copies)
        scored: Tensor = self.classify(parsed.z, costs.merged(group_of, allowed))
        return scored

    def next_state(self, output: PolicyOutput) -> Tensor:
        """Return the state of an episode's next step: each node's embedding plus that of its group, `[N, H]`.

        It is detached, so that memory does not grow with the length of an episode. It replaces the state before it and
        is normalised together with the features it is added to, so that its norm does not grow.

        Source: HSDAG, arXiv 2405.14185, section 2.5: Z_v + Z_v'.
        """
        return (output.z + output.parsed.z[torch.from_numpy(output.parsed.group_of)]).detach()


def group_allowed(allowed: BoolArray, group_of: IntArray, n_groups: int) -> BoolArray:
    """Return the devices that each group may choose: those that can run all its nodes, otherwise some of them.

    Args:
        allowed: which device can run which node, `[N, D]`.
        group_of: group of each node, `[N]`.
        n_groups: number of groups C.

    Returns:
        `[C, D]`, with at least one device per group that has any.
    """
    every = np.ones((n_groups, allowed.shape[1]), dtype=bool)
    some = np.zeros_like(every)
    np.logical_and.at(every, group_of, allowed)
    np.logical_or.at(some, group_of, allowed)
    return np.where(every.any(axis=1, keepdims=True), every, some)
