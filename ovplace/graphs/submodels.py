"""The submodels into which HETERO cuts a placed model, as OpenVINO 2026.4.1 does it.

Source: openvino `src/plugins/hetero/src/subgraph_collector.cpp` since pull request 36126 (June 2026). Edges between
different affinities are boundaries, a Result takes its producer's affinity, and the rest is joined, undirected. Where
submodels then need each other, edges inside them become boundaries too: first those that `returning_edges` finds, until
there are none, then those around one operation at a time (`isolating_edges`), until no submodels need each other.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ovplace.graphs.dag import connected_labels, strong_labels, topological_order
from ovplace.graphs.isolating_edges import isolating_edges
from ovplace.graphs.op_graph import BoolArray, IntArray, OpGraph
from ovplace.graphs.returning_edges import returning_edges


def submodel_labels(graph: OpGraph, device_of: IntArray) -> IntArray:
    """Return the submodel of each operation, `[N]`.

    Args:
        graph: the model, operations in `get_ordered_ops()` order, which decides between equals.
        device_of: a device index for each operation, `[N]`.

    Cost: O(N + E) where submodels do not need each other in a cycle, else O((N + E) B / 64) a round, B boundaries;
    there are at most as many rounds as edges.
    """
    source, target = graph.edges
    joined = (device_of[source] == device_of[target]) | graph.is_result[target]
    labels = connected_labels(len(graph), graph.edges[:, joined])
    if not _cyclic(graph, labels).any():
        return labels
    while (cut := returning_edges(graph, labels, joined)).any():
        joined &= ~cut
        labels = connected_labels(len(graph), graph.edges[:, joined])
    while (cyclic := _cyclic(graph, labels)).any():
        joined &= ~isolating_edges(graph, labels, joined, cyclic)
        labels = connected_labels(len(graph), graph.edges[:, joined])
    return labels


def _cyclic(graph: OpGraph, labels: IntArray) -> BoolArray:
    """Return the operations of submodels that need each other, `[N]`."""
    quotient = labels[graph.edges]
    component = strong_labels(len(graph), quotient[:, quotient[0] != quotient[1]])
    size = np.bincount(component[np.unique(labels)], minlength=len(graph))
    return np.asarray(size[component[labels]] > 1)


def running_submodels(graph: OpGraph, device_of: IntArray) -> list[IntArray]:
    """Return the operations of each submodel that HETERO runs, in running order; each array is sorted.

    Where several submodels could run next, HETERO may take another one first. Constants alone form none: they are
    copied into the submodel that reads them.

    Args:
        graph: the model.
        device_of: a device index for each operation, `[N]`.

    Cost: O(N log N + E) beside `submodel_labels`.
    """
    used, compact = np.unique(submodel_labels(graph, device_of), return_inverse=True)
    runs = np.zeros(len(used), dtype=bool)
    runs[compact[~(graph.is_constant | graph.is_result)]] = True
    quotient = compact[graph.edges]
    order = topological_order(len(used), quotient[:, quotient[0] != quotient[1]])
    by_submodel = np.argsort(compact, kind="stable")
    ops = np.split(by_submodel, np.searchsorted(compact[by_submodel], np.arange(1, len(used))))
    return [ops[submodel] for submodel in order if runs[submodel]]


def submodel_devices(graph: OpGraph, device_of: IntArray, submodels: Sequence[IntArray]) -> list[int]:
    """Return the device index of each submodel; a Result runs where its producer does.

    Args:
        graph: the model.
        device_of: a device index for each operation, `[N]`.
        submodels: operations of each submodel, as `running_submodels` returns them.
    """
    return [int(device_of[ops[~graph.is_result[ops]][-1]]) for ops in submodels]


def is_unread(graph: OpGraph, ops: IntArray) -> bool:
    """Return whether a submodel consists of inputs that nobody reads: HETERO has it, and there is nothing to run.

    Args:
        graph: the model.
        ops: operations of the submodel.
    """
    return all(graph.types[op] == "Parameter" and not graph.successors[op] for op in ops.tolist())
