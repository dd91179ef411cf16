"""Parsing network: scores edges, parses the graph into groups, and pools the embeddings of each group.

Source: HSDAG, arXiv 2405.14185, equations 7 to 11; Song et al., "Graph Parsing Networks", arXiv 2402.14393.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor, nn

from ovplace.graphs.op_graph import FloatArray, IntArray
from ovplace.learning.layers import mlp
from ovplace.placers.hsdag.network.adjacency import Adjacency
from ovplace.placers.hsdag.network.dropout import Dropout
from ovplace.placers.hsdag.network.encoder import GraphLayers
from ovplace.placers.hsdag.network.levels import Level, holding_inside
from ovplace.placers.hsdag.network.perceptron import Activation, perceptron
from ovplace.placers.hsdag.network.settings import NetworkSettings


class EdgeScorer(nn.Module):
    """Edge score sigmoid(MLP(z_u * z_v)), symmetric in the two nodes.

    Source: Graph Parsing Networks, equation 2; HSDAG, equation 7.
    """

    def __init__(self, width: int, layers: int, activation: Activation, dropout: float) -> None:
        """Build the MLP.

        Args:
            width: size of embeddings H.
            layers: linear layers.
            activation: what follows a linear layer but the last one.
            dropout: dropout probability of its input.
        """
        super().__init__()
        self.score = perceptron(width, width, 1, layers, replace(activation, final=False))
        self.dropout = Dropout(dropout)

    def forward(self, z: Tensor, pairs: Tensor) -> Tensor:
        """Return the score in (0, 1) of each pair.

        Args:
            z: node embeddings, `[N, H]`.
            pairs: pairs of nodes, `[2, Q]`.

        Returns:
            The scores, `[Q]`.
        """
        product = self.dropout(z.index_select(0, pairs[0]) * z.index_select(0, pairs[1]))
        return torch.sigmoid(self.score(product)).squeeze(1)


class ScoredPooling(nn.Module):
    """POST(sum of PRE(z)) times the summed scores of edges of the group.

    The assignment to groups is discrete, so that the gradient reaches the scorer through the scores alone. The factor
    of a group without such an edge is 1.

    Source: Graph Parsing Networks, equation 5: DeepSets times mean score times number of edges.
    """

    def __init__(self, width: int, layers: int) -> None:
        """Build PRE and POST.

        Args:
            width: size of embeddings H.
            layers: linear layers of each.
        """
        super().__init__()
        self.before, self.after = mlp(width, width, width, layers), mlp(width, width, width, layers)
        self.norms = nn.ModuleList([nn.LayerNorm(width), nn.LayerNorm(width)])

    def forward(self, z: Tensor, labels: Tensor, n_groups: int, scores: Tensor, group_of_score: Tensor) -> Tensor:
        """Return group embeddings.

        Args:
            z: node embeddings, `[N, H]`.
            labels: group of each node, `[N]`.
            n_groups: number of groups C.
            scores: scores of the edges that count, `[K]`.
            group_of_score: group of each of these edges, `[K]`.

        Returns:
            Embeddings of the groups, `[C, H]`.
        """
        h = self.norms[0](z + self.before(z))
        total = z.new_zeros(n_groups, z.shape[1]).index_add(0, labels, h)
        held = z.new_zeros(n_groups).index_add(0, group_of_score, scores)
        alone = torch.bincount(group_of_score, minlength=n_groups) == 0
        out: Tensor = self.norms[1](total + self.after(total)) * torch.where(alone, 1.0, held)[:, None]
        return out


@dataclass(frozen=True, eq=False)
class Parsed:
    """A grouped graph.

    Attributes:
        z: embedding of each group, `[C, H]`.
        group_of: group of each node, `[N]`.
        levels: the levels of the parse.
        p_stop: probability of stopping after each level, for each of the copies, `[L, B]`.
        log_p: log probability of the drawn pairs, for each of the copies, `[B]`; 0 if nothing was drawn.
    """

    z: Tensor
    group_of: IntArray
    levels: tuple[Level, ...]
    p_stop: Tensor
    log_p: Tensor


Grouping = Callable[[int, IntArray, FloatArray], Level] | Sequence[Level]
"""Forms a level from the number of nodes, their pairs `[2, Q]` and scores `[Q]`; or recorded levels to repeat."""

ContinueParsing = Callable[[int, float], bool]
"""Decides whether another level follows, from the number of levels so far and the probability of stopping."""


@dataclass(frozen=True, eq=False)
class _Copies:
    """The copies of a graph that are parsed at once.

    Attributes:
        copy_of: copy that each node belongs to, `[N]`.
        count: number of copies B.
    """

    copy_of: IntArray
    count: int

    @classmethod
    def of(cls, graph: Adjacency) -> _Copies:
        return cls(np.repeat(np.arange(graph.n_copies), graph.n_nodes // graph.n_copies), graph.n_copies)

    def merged(self, level: Level) -> _Copies:
        """Return the copies that the groups of a level belong to."""
        copy_of = np.empty(level.n_groups, dtype=np.int64)
        copy_of[level.labels] = self.copy_of
        return _Copies(copy_of, self.count)


class ParsingNetwork(nn.Module):
    """Forms groups in one or several levels of parsing."""

    def __init__(self, settings: NetworkSettings) -> None:
        """Build the edge scorer, the pooling and the layer that predicts the probability of stopping."""
        super().__init__()
        width, self.settings = settings.hidden, settings
        self.scorer = EdgeScorer(width, settings.scorer_layers, settings.activation, settings.parsing_dropout)
        self.mixer = GraphLayers(settings.encoder, width, 1, settings.dropout)
        self.pooling = ScoredPooling(width, settings.pooling_layers)
        self.stopper = nn.Linear(width, 1)

    def forward(
        self, h: Tensor, encoder: GraphLayers, graph: Adjacency, grouping: Grouping, go_on: ContinueParsing
    ) -> tuple[Tensor, Parsed]:
        """Encode and parse until `go_on` returns False or nothing is left to merge.

        Args:
            h: input of the encoder for all nodes of the graph, `[N, H]`.
            encoder: encodes the nodes, and the groups as well with `encoded_levels`.
            graph: the edges; copies of a graph are parsed each by itself.
            grouping: forms a level from the scores; or recorded levels to repeat.
            go_on: decides after each level whether another follows.

        Returns:
            The encoded nodes, `[N, H]`, and the groups.
        """
        z = nodes = encoder(h, graph)
        group_of, copies = np.arange(len(z)), _Copies.of(graph)
        levels: list[Level] = []
        stops: list[Tensor] = []
        log_p = z.new_zeros(copies.count)
        while True:
            pairs = graph.pairs
            level, held, drawn_p = self._parse(z, pairs, copies, grouping, len(levels))
            log_p = log_p + drawn_p
            h = self._pooled(h if self.settings.pooled_input == "input" else z, graph, level, held)
            copies = copies.merged(level)
            merged = level.n_groups < len(level.labels)
            levels.append(level)
            stops.append(self._p_stop(h, copies))
            group_of = level.labels[group_of]
            connected = bool((level.labels[pairs[0]] != level.labels[pairs[1]]).any())
            if not (merged and connected and go_on(len(levels), float(stops[-1][0].detach()))):
                return nodes, Parsed(h, group_of, tuple(levels), torch.stack(stops), log_p)
            graph = graph.merged(level.labels, level.n_groups)
            if self.settings.encoded_levels and self.settings.encoder != "dag":  # which reads the direction of edges
                graph = graph.undirected()
            z = encoder(h, graph) if self.settings.encoded_levels else h

    def _pooled(self, h: Tensor, graph: Adjacency, level: Level, scores: Tensor) -> Tensor:
        """Return the embeddings of a level's groups from those of its nodes, `[C, H]`.

        Edges inside a group count in both directions, as in the published code.
        """
        group_of_score = torch.from_numpy(level.labels[graph.pairs[0, level.held]])
        weight = 2 * scores if self.settings.pooled_edges == "inside" else scores
        found: Tensor = self.pooling(
            self.mixer(h, graph), torch.from_numpy(level.labels), level.n_groups, weight, group_of_score
        )
        return found

    def _parse(
        self, z: Tensor, pairs: IntArray, copies: _Copies, grouping: Grouping, done: int
    ) -> tuple[Level, Tensor, Tensor]:
        """Return a level, the scores of the pairs it holds `[K]`, and its log probability for each copy `[B]`.

        For a recorded level without random draws only the scores of held pairs are computed: no others have a gradient.
        """
        ends = torch.from_numpy(pairs)
        if callable(grouping):
            scores = self.scorer(z, ends)
            level = grouping(len(z), pairs, scores.detach().numpy().astype(np.float64))
            level = holding_inside(level, pairs) if self.settings.pooled_edges == "inside" else level
        else:
            level = grouping[done]
            if not len(level.chosen):
                return level, self.scorer(z, ends[:, level.held]), z.new_zeros(copies.count)
            scores = self.scorer(z, ends)
        held = scores.index_select(0, torch.from_numpy(level.held))
        return level, held, _log_p(level.chosen, pairs, scores, copies)

    def _p_stop(self, z: Tensor, copies: _Copies) -> Tensor:
        """Return the probability of stopping for each copy, from the mean embedding of its groups, `[B]`."""
        total = z.new_zeros(copies.count, z.shape[1]).index_add(0, torch.from_numpy(copies.copy_of), z)
        size = torch.from_numpy(np.bincount(copies.copy_of, minlength=copies.count)).to(z.dtype)
        return torch.sigmoid(self.stopper(total / size[:, None])).squeeze(1)


def _log_p(chosen: IntArray, pairs: IntArray, scores: Tensor, copies: _Copies) -> Tensor:
    """Return the log probability of the drawn pairs for each copy, `[B]`."""
    zero = scores.new_zeros(copies.count)
    if not len(chosen):
        return zero
    logit = torch.logit(scores, eps=1e-6)
    ends, twice = torch.from_numpy(pairs.reshape(-1)), logit.repeat(2)
    odds = scores.new_ones(len(chosen)).index_add(0, ends, torch.exp(twice))  # 1 for staying alone
    own = torch.cat([logit, scores.new_zeros(1)])[torch.from_numpy(chosen)]  # NONE is the last entry
    return zero.index_add(0, torch.from_numpy(copies.copy_of), own - torch.log(odds))
