"""How HETERO cuts a placed model into submodels.

Source: OpenVINO `src/plugins/hetero/src/subgraph_collector.cpp` (2026): every Parameter and Constant, and every
edge between different affinities, is a boundary; the rest is joined, undirected; while submodels depend on
each other in a cycle, edges inside them become boundaries too.
"""

from __future__ import annotations

import numpy as np

from ovplace.core.dag import connected_labels, strong_labels, topological_order
from ovplace.core.graph import BoolArray, IntArray, OpGraph

FREE = -1
"""Label of operations that form no submodel by themselves: Parameters, Constants, Results."""


def submodel_labels(graph: OpGraph, device_of: IntArray) -> IntArray:
    """Return the submodel of each operation, `[N]`, `FREE` for Parameters, Constants and Results.

    Args:
        graph: the model.
        device_of: a device index for each operation, `[N]`.

    Cost: O(N + E) a round; one round where submodels do not depend on each other in a cycle.
    """
    free = np.isin(np.array(graph.types), ("Parameter", "Constant", "Result"))
    inner = graph.edges[:, ~free[graph.edges[0]] & ~free[graph.edges[1]]]
    joined = device_of[inner[0]] == device_of[inner[1]]
    labels = connected_labels(len(graph), inner[:, joined])
    while (cut := _edges_that_close_cycles(graph, inner, labels, joined)).any():
        joined = joined & ~cut
        labels = connected_labels(len(graph), inner[:, joined])
    labels = np.where(free, FREE, labels)
    labels[~free] = np.unique(labels[~free], return_inverse=True)[1]
    return labels


def submodel_devices(graph: OpGraph, device_of: IntArray, labels: IntArray) -> list[int]:
    """Return the device index of each submodel in the order HETERO runs them."""
    placed = np.flatnonzero(labels != FREE)
    if not len(placed):
        return []
    device = np.empty(labels.max() + 1, dtype=np.int64)
    device[labels[placed]] = device_of[placed]
    quotient = labels[graph.edges]
    across = (quotient[0] != quotient[1]) & (quotient != FREE).all(axis=0)
    order = topological_order(len(device), quotient[:, across])
    return [int(d) for d in device[order]]


def _edges_that_close_cycles(graph: OpGraph, edges: IntArray, labels: IntArray, joined: BoolArray) -> BoolArray:
    """Return which joined edges become boundaries in this round, `[E']`.

    An input of a submodel is cyclic when its producer depends on that same submodel. An edge inside a submodel
    is cut when its two ends do not lie behind the same cyclic inputs.
    """
    quotient = labels[edges]
    inside = joined & (quotient[0] == quotient[1])
    component = strong_labels(len(graph), quotient[:, quotient[0] != quotient[1]])[labels]
    size = np.bincount(component[np.unique(labels, return_index=True)[1]], minlength=len(graph))
    if size.max(initial=0) < 2:
        return np.zeros(len(joined), dtype=bool)
    upstream, behind = _dependencies(graph, edges, labels)
    cut = inside & _differs(behind, edges)
    return cut if cut.any() else inside & _mutual(graph, edges, labels, component, size, upstream)


def _mutual(
    graph: OpGraph, edges: IntArray, labels: IntArray, component: IntArray, size: IntArray, upstream: list[int]
) -> BoolArray:
    """Return where to cut submodels that need each other although no path comes back to where it left.

    The submodel of the earliest operation on a cycle has one operation that needs no other submodel of the cycle and
    one that does; it is cut between the two.
    """
    first = next(op for op in graph.order.tolist() if size[component[op]] > 1)
    on_cycle = sum(1 << int(label) for label in np.unique(labels[component == component[first]]))
    others = on_cycle & ~(1 << int(labels[first]))
    return (labels[edges[0]] == labels[first]) & _differs([mask & others for mask in upstream], edges)


def _differs(masks: list[int], edges: IntArray) -> BoolArray:
    return np.array([masks[source] != masks[target] for source, target in edges.T.tolist()], dtype=bool)


def _dependencies(graph: OpGraph, edges: IntArray, labels: IntArray) -> tuple[list[int], list[int]]:
    """Return, as bit masks, the submodels each operation depends on, and the cyclic inputs it lies behind."""
    upstream, behind = [0] * len(graph), [0] * len(graph)
    by_target = np.argsort(graph.rank[edges[1]], kind="stable")
    label = labels.tolist()
    for number, (source, target) in enumerate(edges[:, by_target].T.tolist()):
        upstream[target] |= upstream[source] | (1 << label[source])
        if label[source] == label[target]:
            behind[target] |= behind[source]
        elif upstream[source] >> label[target] & 1:
            behind[target] |= 1 << number
    return upstream, behind
