"""Dominant-edge parsing: groups from edge scores, with their number determined by the scores.

Every node keeps its best edge. The path along these edges ends, from every node, at two nodes that keep the same edge;
all nodes whose path ends there form a group. A group has exactly one such pair and at least two nodes; a node without
edges is a group by itself.

Source: Song et al., "Graph Parsing Networks", ICLR 2024, arXiv 2402.14393, section 3.2 (DOM and EXP); HSDAG, arXiv
2405.14185, equations 8 to 11. The published seed-and-expand loops visit nodes one by one; the components of the map
from each node to the other end of its best edge are the same groups.
"""

from __future__ import annotations

import numpy as np

from ovplace.core.integer_labels import renumbered
from ovplace.graphs.op_graph import FloatArray, IntArray

NONE = -1
"""Index of the pair of a node that has, or drew, none."""


def dominant(n_nodes: int, pairs: IntArray, scores: FloatArray) -> IntArray:
    """Return the best-scored pair of each node.

    Args:
        n_nodes: number of nodes N.
        pairs: distinct unordered pairs, `[2, Q]`.
        scores: score of each pair, `[Q]`.

    Returns:
        Index of a pair for each node, the first of equals, `NONE` for a node without pairs, `[N]`.
    """
    best = np.full(n_nodes, NONE, dtype=np.int64)
    number = np.tile(np.arange(pairs.shape[1]), 2)
    worst_first = np.lexsort((-number, scores[number]))
    best[pairs.reshape(-1)[worst_first]] = number[worst_first]  # of repeated writes the last one stays
    return best


def merge_best_pairs(pairs: IntArray, best: IntArray) -> IntArray:
    """Return the groups defined by the best pairs, in O(N log N) by pointer doubling.

    Args:
        pairs: distinct unordered pairs, `[2, Q]`.
        best: the best-scored pair of each node, as returned by `dominant`, `[N]`.

    Returns:
        Group of each node, numbered from 0 in the order of their first nodes, `[N]`.
    """
    n_nodes, kept = len(best), best != NONE
    nodes = np.arange(n_nodes)
    after = nodes.copy()
    after[kept] = pairs[:, best[kept]].sum(axis=0) - nodes[kept]
    mutual = after[after] == nodes
    after[mutual] = np.minimum(nodes, after)[mutual]
    for _ in range(n_nodes.bit_length()):
        after = after[after]
    return renumbered(after)


def sample_pairs(n_nodes: int, pairs: IntArray, scores: FloatArray, rng: np.random.Generator) -> IntArray:
    """Draw a pair for each node with odds score / (1 - score); odds 1 for none.

    Unlike the deterministic `dominant`, this explores groupings, and its probability has a gradient. Not in HSDAG.

    Args:
        n_nodes: number of nodes N.
        pairs: distinct unordered pairs, `[2, Q]`.
        scores: score of each pair, in (0, 1), `[Q]`.
        rng: random generator (Gumbel-max: the largest logit plus noise).

    Returns:
        Index of a pair for each node, `NONE` for a node that drew none, `[N]`.
    """
    number = np.concatenate([np.tile(np.arange(pairs.shape[1]), 2), np.full(n_nodes, NONE)])
    nodes = np.concatenate([pairs.reshape(-1), np.arange(n_nodes)])
    safe = np.clip(scores, 1e-6, 1 - 1e-6)
    logit = np.append(np.log(safe / (1 - safe)), 0.0)[number]
    chosen = np.empty(n_nodes, dtype=np.int64)
    worst_first = np.argsort(logit + rng.gumbel(size=len(logit)))
    chosen[nodes[worst_first]] = number[worst_first]
    return chosen
