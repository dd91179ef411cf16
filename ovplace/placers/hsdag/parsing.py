"""Dominant-edge parsing: from scores of edges to groups, as many as the scores say.

Every node keeps its best edge. Following these edges ends, from every node, at two nodes that keep the same one; all
nodes that end there are a group. A group has one such pair and at least two nodes; a node without edges is alone.

Source: Song et al., "Graph Parsing Networks", ICLR 2024, arXiv 2402.14393, section 3.2 (DOM and EXP); HSDAG, arXiv
2405.14185, equations 8 to 11. The seed-and-expand loops there visit nodes one by one; components of the map from each
node to the other end of its best edge are the same groups.
"""

from __future__ import annotations

import numpy as np

from ovplace.graphs.op_graph import FloatArray, IntArray

NONE = -1


def dominant(n_nodes: int, pairs: IntArray, scores: FloatArray) -> IntArray:
    """Return the best-scored pair of each node, `[N]`; the first of equals, `NONE` without any.

    Args:
        n_nodes: number of nodes N.
        pairs: distinct unordered pairs, `[2, Q]`.
        scores: a score for each, `[Q]`.
    """
    best = np.full(n_nodes, NONE, dtype=np.int64)
    number = np.tile(np.arange(pairs.shape[1]), 2)
    worst_first = np.lexsort((-number, scores[number]))
    best[pairs.reshape(-1)[worst_first]] = number[worst_first]  # of repeated writes the last one stays
    return best


def parse(pairs: IntArray, best: IntArray) -> IntArray:
    """Return the group of each node, `[N]`, numbered from 0 in the order of their first nodes.

    Args:
        pairs: distinct unordered pairs, `[2, Q]`.
        best: the best-scored pair of each node, `[N]`, as `dominant` finds it.

    Cost: O(N log N); pointers are followed by doubling.
    """
    n_nodes, kept = len(best), best != NONE
    nodes = np.arange(n_nodes)
    after = nodes.copy()
    after[kept] = pairs[:, best[kept]].sum(axis=0) - nodes[kept]
    mutual = after[after] == nodes
    after[mutual] = np.minimum(nodes, after)[mutual]
    for _ in range(n_nodes.bit_length()):
        after = after[after]
    return ordered(after)


def drawn(n_nodes: int, pairs: IntArray, scores: FloatArray, rng: np.random.Generator) -> IntArray:
    """Return a pair for each node, drawn with odds of score to 1 - score, `[N]`; `NONE`, to stay alone, has odds 1.

    A parse that can be explored and whose probability has a gradient, where `dominant` is the same each time.

    Args:
        n_nodes: number of nodes N.
        pairs: distinct unordered pairs, `[2, Q]`.
        scores: of each, in (0, 1), `[Q]`.
        rng: what draws (Gumbel-max: the largest of logit plus noise).
    """
    number = np.concatenate([np.tile(np.arange(pairs.shape[1]), 2), np.full(n_nodes, NONE)])
    nodes = np.concatenate([pairs.reshape(-1), np.arange(n_nodes)])
    safe = np.clip(scores, 1e-6, 1 - 1e-6)
    logit = np.append(np.log(safe / (1 - safe)), 0.0)[number]
    chosen = np.empty(n_nodes, dtype=np.int64)
    worst_first = np.argsort(logit + rng.gumbel(size=len(logit)))
    chosen[nodes[worst_first]] = number[worst_first]
    return chosen


def ordered(labels: IntArray) -> IntArray:
    """Return labels `[N]` as numbers from 0 in the order of first appearance."""
    _, first, number = np.unique(labels, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[number]
