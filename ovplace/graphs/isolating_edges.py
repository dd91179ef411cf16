"""The second of HETERO's two ways to cut submodels that need each other: around one operation."""

from __future__ import annotations

import numpy as np

from ovplace.graphs.op_graph import BoolArray, IntArray, OpGraph


def isolating_edges(graph: OpGraph, labels: IntArray, joined: BoolArray, cyclic: BoolArray) -> BoolArray:
    """Return the joined edges into the operation that HETERO cuts off from what it reads, `[E]`.

    Among the operations that can be cut off, HETERO prefers, in this order: one that reads another such submodel; one
    whose producer has several readers; one that reads no leaf (an operation with one reader, on graph inputs alone);
    one with several joined inputs or several readers; fewer joined inputs; the earliest.

    Args:
        graph: the model.
        labels: submodel of each operation, `[N]`.
        joined: edges that are not boundaries, `[E]`.
        cyclic: operations of submodels that need each other, at least one, `[N]`.
    """
    source, target = graph.edges

    def inputs(edges: BoolArray) -> IntArray:
        return np.bincount(target[edges], minlength=len(graph))

    n_joined = inputs(joined)
    readers = np.bincount(source[~graph.is_result[target]], minlength=len(graph))
    leaf = graph.is_computed & (readers == 1) & (inputs(graph.is_computed[source]) == 0)
    on_cycle = inputs(~joined & (labels[source] != labels[target]) & cyclic[source]) > 0
    shares = inputs(joined & (readers[source] > 1)) > 0
    reads_leaf = inputs(joined & leaf[source]) > 0
    linear = (n_joined == 1) & (readers <= 1)
    candidates = np.flatnonzero(cyclic & (n_joined > 0))
    best = np.lexsort([key[candidates] for key in (n_joined, linear, reads_leaf, ~shares, ~on_cycle)])[0]
    return np.asarray(joined & (target == candidates[best]))
