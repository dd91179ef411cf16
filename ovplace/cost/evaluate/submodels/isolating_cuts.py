"""HETERO's cuts around one group in each of many placements."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ovplace.cost.evaluate.submodels.precedence import Precedence
from ovplace.graphs.op_graph import BoolArray, IntArray


def isolating_cuts(
    order: Precedence, labels: NDArray[np.integer], joined: BoolArray, cyclic: BoolArray, constants: BoolArray
) -> BoolArray:
    """Return the joined edges into the group that is cut off in each placement, `[F, A]`.

    The rule of `graphs.isolating_edges`. Cutting off a group from its constant alone changes no region, so that groups
    with nothing else are left out.

    Args:
        order: the edges that order groups.
        labels: region of each group under each placement, `[G, A]`.
        joined: edges that are not boundaries, `[F, A]`.
        cyclic: groups of regions that need each other, `[G, A]`.
        constants: groups that are joined to their constant, `[G, A]`.
    """
    source, target = order.edges
    others = _inputs(order, joined)
    n_joined = others + constants
    on_cycle = _inputs(order, ~joined & (labels[source] != labels[target]) & cyclic[source]) > 0
    shares = _inputs(order, joined & (order.readers[source] > 1)[:, None]) > 0
    reads_leaf = _inputs(order, joined & order.leaves[source][:, None]) > 0
    linear = (n_joined == 1) & (order.readers <= 1)[:, None]
    key = np.zeros_like(n_joined)
    for better in (on_cycle, shares, ~reads_leaf, ~linear):
        key = 2 * key + ~better
    key = key * (int(n_joined.max(initial=0)) + 1) + n_joined
    candidate = cyclic & (others > 0)
    chosen = np.where(candidate, key, np.iinfo(np.int64).max).argmin(axis=0)
    return np.asarray(joined & candidate[target] & (target[:, None] == chosen))


def _inputs(order: Precedence, edges: BoolArray) -> IntArray:
    """Return how many of the edges lead into each group, `[G, A]`."""
    counts = np.zeros((order.n_groups, edges.shape[1]), dtype=np.int64)
    if len(order.starts):
        counts[order.targets] = np.add.reduceat(edges, order.starts, axis=0, dtype=np.int64)
    return counts
