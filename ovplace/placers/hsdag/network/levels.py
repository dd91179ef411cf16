"""Levels of a parse: the groups that one round of parsing forms, and how they are formed from scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ovplace.core.integer_labels import renumbered
from ovplace.graphs.dag import connected_labels
from ovplace.graphs.op_graph import FloatArray, IntArray
from ovplace.placers.hsdag.network.parsing import NONE, dominant, merge_best_pairs, sample_pairs


@dataclass(frozen=True, eq=False)
class Level:
    """One level of a parse, or the same level of several copies of a graph.

    Attributes:
        labels: group of each node of the level below, `[N]`.
        held: pairs of the level below whose scores weight the groups: those that the parse kept, or all inside a group,
            `[K]`.
        n_groups: number of groups.
        n_pairs: number of pairs of the level below.
        chosen: pair drawn by each node, `NONE` for none, `[N]`; empty if nothing was drawn.
    """

    labels: IntArray
    held: IntArray
    n_groups: int
    n_pairs: int
    chosen: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))


def parsed_level(n_nodes: int, pairs: IntArray, scores: FloatArray) -> Level:
    """Form groups along each node's best-scored pair.

    Args:
        n_nodes: number of nodes N.
        pairs: distinct unordered pairs, `[2, Q]`.
        scores: score of each pair, `[Q]`.
    """
    best = dominant(n_nodes, pairs, scores)
    labels = merge_best_pairs(pairs, best)
    return Level(labels, np.unique(best[best != NONE]), int(labels.max(initial=-1)) + 1, pairs.shape[1])


def drawn_level(n_nodes: int, pairs: IntArray, scores: FloatArray, rng: np.random.Generator) -> Level:
    """Form groups along one random pair per node.

    Args:
        n_nodes: number of nodes N.
        pairs: distinct unordered pairs, `[2, Q]`.
        scores: score of each pair, in (0, 1), `[Q]`.
        rng: random generator.
    """
    chosen = sample_pairs(n_nodes, pairs, scores, rng)
    held = np.unique(chosen[chosen != NONE])
    labels = connected_labels(n_nodes, pairs[:, held])
    return Level(labels, held, int(labels.max(initial=-1)) + 1, pairs.shape[1], chosen)


def fixed_level(labels: IntArray, n_pairs: int) -> Level:
    """Return given groups as a level that holds no pair, so that every group has weight 1.

    Args:
        labels: group of each node, `[N]`.
        n_pairs: number of pairs of nodes.
    """
    return Level(labels, np.zeros(0, dtype=np.int64), int(labels.max(initial=-1)) + 1, n_pairs)


def tied_level(level: Level, together: IntArray) -> Level:
    """Merge groups so that nodes that must have the same device are in one group.

    Args:
        level: a parse of N nodes.
        together: label of each node; nodes of equal labels must not be separated, `[N]`.
    """
    c = level.n_groups
    bipartite = np.stack([level.labels, c + together])
    labels = renumbered(connected_labels(c + int(together.max(initial=-1)) + 1, bipartite)[level.labels])
    return replace(level, labels=labels, n_groups=int(labels.max(initial=-1)) + 1)


def holding_inside(level: Level, pairs: IntArray) -> Level:
    """Return a level that holds all pairs inside its groups.

    Args:
        level: a parse.
        pairs: distinct unordered pairs of its nodes, `[2, Q]`.
    """
    ends = level.labels[pairs]
    return replace(level, held=np.flatnonzero(ends[0] == ends[1]))


def joined_levels(levels: Sequence[Level]) -> Level:
    """Return the level of a disjoint union from the levels of its graphs."""
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
