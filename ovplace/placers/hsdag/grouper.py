"""The parsing network: scores edges, parses the graph into groups, and pools the embeddings of each group."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import torch
from torch import Tensor, nn

from ovplace.graphs.dag import connected_labels
from ovplace.graphs.op_graph import FloatArray, IntArray
from ovplace.learning.dropout import Dropout
from ovplace.learning.encoder import GraphLayers, mlp
from ovplace.learning.neighbours import Neighbours
from ovplace.placers.hsdag.network_settings import NetworkSettings
from ovplace.placers.hsdag.parsing import NONE, dominant, drawn, ordered, parse


class EdgeScorer(nn.Module):
    """sigmoid(MLP(z_u * z_v)): the same from both ends.

    Source: Graph Parsing Networks, equation 2; HSDAG, equation 7.
    """

    def __init__(self, width: int, layers: int, dropout: float) -> None:
        """Build the MLP for embeddings of size `width`."""
        super().__init__()
        self.score = mlp(width, width, 1, layers)
        self.dropout = Dropout(dropout)

    def forward(self, z: Tensor, pairs: Tensor) -> Tensor:
        """Return the score in (0, 1) of each pair `[2, Q]` of nodes with embeddings `[N, H]`, `[Q]`."""
        product = self.dropout(z.index_select(0, pairs[0]) * z.index_select(0, pairs[1]))
        return torch.sigmoid(self.score(product)).squeeze(1)


class ScoredPooling(nn.Module):
    """POST(sum of PRE(z)) times the summed scores of the edges that hold a group together.

    The assignment to groups is discrete; the scores are the path on which the gradient reaches the scorer. A group
    without such an edge counts 1.

    Source: Graph Parsing Networks, equation 5: DeepSets times mean score times number of edges.
    """

    def __init__(self, width: int, layers: int) -> None:
        """Build PRE and POST of `layers` linear layers for embeddings of size `width`."""
        super().__init__()
        self.before, self.after = mlp(width, width, width, layers), mlp(width, width, width, layers)
        self.norms = nn.ModuleList([nn.LayerNorm(width), nn.LayerNorm(width)])

    def forward(self, z: Tensor, labels: Tensor, n_groups: int, scores: Tensor, group_of_score: Tensor) -> Tensor:
        """Return `[C, H]` for nodes `[N, H]` in groups `labels` `[N]`, with scores `[K]` each of a group `[K]`."""
        h = self.norms[0](z + self.before(z))
        total = z.new_zeros(n_groups, z.shape[1]).index_add(0, labels, h)
        held = z.new_zeros(n_groups).index_add(0, group_of_score, scores)
        alone = torch.bincount(group_of_score, minlength=n_groups) == 0
        out: Tensor = self.norms[1](total + self.after(total)) * torch.where(alone, 1.0, held)[:, None]
        return out


@dataclass(frozen=True, eq=False)
class Level:
    """One parse, or the same parse of several copies of a graph side by side.

    Attributes:
        labels: group of each node of the level below, `[N]`.
        held: pairs of that level that hold the groups together, `[K]`.
        n_groups: number of groups.
        n_pairs: number of pairs of that level, held or not.
        chosen: pair that each node drew, `NONE` for none, `[N]`; empty where nothing was drawn.
    """

    labels: IntArray
    held: IntArray
    n_groups: int
    n_pairs: int
    chosen: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))


@dataclass(frozen=True, eq=False)
class Parsed:
    """A grouped graph.

    Attributes:
        z: embedding of each group, `[C, H]`.
        group_of: group of each node, `[N]`.
        levels: the parses that led there.
        p_stop: probability of stopping after each level, for each of the copies, `[L, B]`.
        log_p: log probability of what nodes drew, for each of the copies, `[B]`; 0 where nothing was drawn.
    """

    z: Tensor
    group_of: IntArray
    levels: tuple[Level, ...]
    p_stop: Tensor
    log_p: Tensor


Grouping = Callable[[int, IntArray, FloatArray], Level] | Sequence[Level]
"""From a number of nodes, their pairs `[2, Q]` and scores `[Q]` to a parse; or known parses, level by level."""

More = Callable[[int, float], bool]
"""Whether to parse on after that many levels, given the probability of stopping."""


def parsed_level(n_nodes: int, pairs: IntArray, scores: FloatArray) -> Level:
    """Return the dominant-edge parse."""
    best = dominant(n_nodes, pairs, scores)
    labels = parse(pairs, best)
    return Level(labels, np.unique(best[best != NONE]), int(labels.max(initial=-1)) + 1, pairs.shape[1])


def drawn_level(n_nodes: int, pairs: IntArray, scores: FloatArray, rng: np.random.Generator) -> Level:
    """Return a parse with a pair drawn for each node, by its score, or none."""
    chosen = drawn(n_nodes, pairs, scores, rng)
    held = np.unique(chosen[chosen != NONE])
    labels = ordered(connected_labels(n_nodes, pairs[:, held]))
    return Level(labels, held, int(labels.max(initial=-1)) + 1, pairs.shape[1], chosen)


def tied_level(level: Level, together: IntArray) -> Level:
    """Return the parse with nodes of one label in `together` `[N]` in one group: what cannot be placed apart."""
    c = level.n_groups
    bipartite = np.stack([level.labels, c + together])
    labels = ordered(connected_labels(c + int(together.max(initial=-1)) + 1, bipartite)[level.labels])
    return replace(level, labels=labels, n_groups=int(labels.max(initial=-1)) + 1)


class ParsingNetwork(nn.Module):
    """Groups nodes by parsing, one level or several."""

    def __init__(self, settings: NetworkSettings) -> None:
        """Build the scorer, the layers of the pooling, and what decides whether to parse on."""
        super().__init__()
        width = settings.hidden
        self.scorer = EdgeScorer(width, settings.scorer_layers, settings.parsing_dropout)
        self.mixer = GraphLayers(settings.encoder, width, 1, settings.dropout)
        self.pooling = ScoredPooling(width, settings.pooling_layers)
        self.stopper = nn.Linear(width, 1)

    def forward(self, z: Tensor, graph: Neighbours, copies: int, grouping: Grouping, more: More) -> Parsed:
        """Parse until `more` says no, or nothing is left to merge.

        Args:
            z: node embeddings, `[N, H]`; of `copies` graphs of equal size side by side.
            graph: the edges between them.
            copies: number of graphs B.
            grouping: makes a parse from the scores; or known ones, to be repeated.
            more: decides after each level.
        """
        group_of = np.arange(len(z))
        copy_of = np.repeat(np.arange(copies), len(z) // copies)
        levels: list[Level] = []
        stops: list[Tensor] = []
        log_p = z.new_zeros(copies)
        while True:
            pairs = graph.pairs
            level, held, drawn_p = self._parse(z, pairs, copy_of, copies, grouping, len(levels))
            log_p = log_p + drawn_p
            held_by = level.labels[pairs[0, level.held]]
            h = self.mixer(z, graph)
            z = self.pooling(h, torch.from_numpy(level.labels), level.n_groups, held, torch.from_numpy(held_by))
            copy_of = _of_groups(copy_of, level)
            merged = level.n_groups < len(level.labels)
            levels.append(level)
            stops.append(self._p_stop(z, copy_of, copies))
            group_of = level.labels[group_of]
            connected = bool((level.labels[pairs[0]] != level.labels[pairs[1]]).any())
            if not (merged and connected and more(len(levels), float(stops[-1][0].detach()))):
                return Parsed(z, group_of, tuple(levels), torch.stack(stops), log_p)
            graph = graph.merged(level.labels, level.n_groups)

    def _parse(
        self, z: Tensor, pairs: IntArray, copy_of: IntArray, copies: int, grouping: Grouping, done: int
    ) -> tuple[Level, Tensor, Tensor]:
        """Return a parse, the scores of the pairs that hold it `[K]`, and its log probability for each copy `[B]`.

        Of a known parse in which nothing was drawn, no other scores are worked out: they would have no gradient.
        """
        ends = torch.from_numpy(pairs)
        if callable(grouping):
            scores = self.scorer(z, ends)
            level = grouping(len(z), pairs, scores.detach().numpy().astype(np.float64))
        else:
            level = grouping[done]
            if not len(level.chosen):
                return level, self.scorer(z, ends[:, level.held]), z.new_zeros(copies)
            scores = self.scorer(z, ends)
        held = scores.index_select(0, torch.from_numpy(level.held))
        return level, held, _log_p(level.chosen, pairs, scores, torch.from_numpy(copy_of), copies)

    def _p_stop(self, z: Tensor, copy_of: IntArray, copies: int) -> Tensor:
        """Return for each copy the probability of stopping here, from the mean embedding of its groups, `[B]`."""
        total = z.new_zeros(copies, z.shape[1]).index_add(0, torch.from_numpy(copy_of), z)
        count = torch.from_numpy(np.bincount(copy_of, minlength=copies)).to(z.dtype)
        return torch.sigmoid(self.stopper(total / count[:, None])).squeeze(1)


def _log_p(chosen: IntArray, pairs: IntArray, scores: Tensor, copy_of: Tensor, copies: int) -> Tensor:
    """Return the log probability of the pairs that nodes drew, for each copy, `[B]`."""
    zero = scores.new_zeros(copies)
    if not len(chosen):
        return zero
    logit = torch.logit(scores, eps=1e-6)
    ends, twice = torch.from_numpy(pairs.reshape(-1)), logit.repeat(2)
    odds = scores.new_ones(len(chosen)).index_add(0, ends, torch.exp(twice))  # 1 for staying alone
    own = torch.cat([logit, scores.new_zeros(1)])[torch.from_numpy(chosen)]  # NONE is the last entry
    return zero.index_add(0, copy_of, own - torch.log(odds))


def _of_groups(copy_of: IntArray, level: Level) -> IntArray:
    found = np.empty(level.n_groups, dtype=np.int64)
    found[level.labels] = copy_of
    return found
