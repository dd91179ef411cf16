"""The submodels into which HETERO cuts a placed model.

Source: openvino `src/plugins/hetero/src/subgraph_collector.cpp` (2026). Edges between different affinities are
boundaries, a Result takes its producer's affinity, and the rest is joined, undirected. While a submodel depends on
what it produces itself, edges inside it become boundaries too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ovplace.graphs.dag import connected_labels, strong_labels, topological_order
from ovplace.graphs.op_graph import BoolArray, IntArray, OpGraph


def submodel_labels(graph: OpGraph, device_of: IntArray) -> IntArray:
    """Return the submodel of each operation, `[N]`.

    Args:
        graph: the model.
        device_of: a device index for each operation, `[N]`.

    Cost: O(N + E) where submodels do not need each other in a cycle, else O((N + E) B / 64) a round, B boundaries.
    """
    result = np.array([kind == "Result" for kind in graph.types], dtype=bool)
    source, target = graph.edges
    joined = (device_of[source] == device_of[target]) | result[target]
    labels = connected_labels(len(graph), graph.edges[:, joined])
    while not _is_acyclic(graph, labels):
        cut = _promoted(graph, labels, joined)
        joined = joined & ~(cut if cut.any() else _mutual(graph, labels, joined))
        labels = connected_labels(len(graph), graph.edges[:, joined])
    return labels


def running_submodels(graph: OpGraph, device_of: IntArray) -> list[IntArray]:
    """Return the operations of each submodel that HETERO runs, in running order; each array is sorted.

    Constants alone form none: they are copied into the submodel that reads them.

    Args:
        graph: the model.
        device_of: a device index for each operation, `[N]`.
    """
    used, compact = np.unique(submodel_labels(graph, device_of), return_inverse=True)
    kind = np.array(graph.types)
    runs = np.zeros(len(used), dtype=bool)
    runs[compact[(kind != "Constant") & (kind != "Result")]] = True
    quotient = compact[graph.edges]
    order = topological_order(len(used), quotient[:, quotient[0] != quotient[1]])
    return [np.flatnonzero(compact == s).astype(np.int64) for s in order if runs[s]]


def submodel_devices(graph: OpGraph, device_of: IntArray, submodels: Sequence[IntArray]) -> list[int]:
    """Return the device index of each submodel; a Result runs where its producer does.

    Args:
        graph: the model.
        device_of: a device index for each operation, `[N]`.
        submodels: operations of each submodel, as `running_submodels` returns them.
    """
    placed = np.array([kind != "Result" for kind in graph.types], dtype=bool)
    return [int(device_of[ops[placed[ops]][-1]]) for ops in submodels]


def _is_acyclic(graph: OpGraph, labels: IntArray) -> bool:
    return not _first_cycle(graph, labels).any()


@dataclass(frozen=True)
class _Dependencies:
    """Dependencies of each operation, as bit masks over boundaries; bit number = edge, or E + op for graph inputs."""

    entering: list[int]  # boundaries into the operation's own submodel
    returning: list[int]  # boundaries that the operation's own submodel produces


def _promoted(graph: OpGraph, labels: IntArray, joined: BoolArray) -> BoolArray:
    """Return which joined edges HETERO makes boundaries in this round, `[E]`."""
    incoming = _incoming(graph)
    deps = _dependencies(graph, labels, joined, incoming)
    behind = _behind(graph, labels, deps, incoming)
    sources, targets = graph.edges.tolist()
    cut = np.zeros(len(joined), dtype=bool)
    for edge in np.flatnonzero(joined).tolist():
        source, op = sources[edge], targets[edge]
        returning = deps.returning[op]
        cut[edge] = returning and not returning & deps.returning[source] and behind[op] & deps.entering[source]
    return cut


def _behind(graph: OpGraph, labels: IntArray, deps: _Dependencies, incoming: Sequence[Sequence[int]]) -> list[int]:
    """Return the boundaries into each operation's submodel that lie before its cycle leaves or after it comes back."""
    sources, targets = graph.edges.tolist()
    outside = (labels[graph.edges[0]] != labels[graph.edges[1]]).tolist()
    behind = [0] * len(graph)
    for op in graph.order.tolist():
        # What holds of a producer in the same submodel holds here: only boundaries that are new are looked at.
        left, entered = deps.returning[op], deps.entering[op]
        for source in (sources[edge] for edge in incoming[op] if not outside[edge]):
            behind[op] |= behind[source]
            left, entered = left & ~deps.returning[source], entered & ~deps.entering[source]
        for boundary in _bits(left):
            behind[op] |= deps.entering[sources[boundary]]
        for boundary in _bits(entered):
            if boundary < len(sources) and outside[boundary]:
                behind[op] |= deps.entering[targets[boundary]]
    return behind


def _dependencies(
    graph: OpGraph, labels: IntArray, joined: BoolArray, incoming: Sequence[Sequence[int]]
) -> _Dependencies:
    n_edges, label = graph.edges.shape[1], labels.tolist()
    sources, inside = graph.edges[0].tolist(), joined.tolist()
    upstream = [0] * len(graph)
    into, out_of = [0] * (max(label, default=0) + 1), [0] * (max(label, default=0) + 1)
    for op in graph.order.tolist():
        if graph.types[op] in ("Parameter", "Constant"):
            upstream[op] = 1 << (n_edges + op)
            into[label[op]] |= upstream[op]
        for edge in incoming[op]:
            source = sources[edge]
            upstream[op] |= upstream[source]
            if not inside[edge]:
                upstream[op] |= 1 << edge
                into[label[op]] |= 1 << edge
                out_of[label[source]] |= 1 << edge
    entering = [upstream[op] & into[label[op]] for op in range(len(graph))]
    return _Dependencies(entering, [upstream[op] & out_of[label[op]] for op in range(len(graph))])


def _incoming(graph: OpGraph) -> list[list[int]]:
    incoming: list[list[int]] = [[] for _ in range(len(graph))]
    for edge, target in enumerate(graph.edges[1].tolist()):
        incoming[target].append(edge)
    return incoming


def _bits(mask: int) -> Iterator[int]:
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


def _first_cycle(graph: OpGraph, labels: IntArray) -> BoolArray:
    """Return the operations of the submodels that need each other and hold the earliest such operation, `[N]`."""
    quotient = labels[graph.edges]
    component = strong_labels(len(graph), quotient[:, quotient[0] != quotient[1]])[labels]
    size = np.bincount(component[np.unique(labels, return_index=True)[1]], minlength=len(graph))
    cyclic = np.flatnonzero(size[component] > 1)
    if not len(cyclic):
        return np.zeros(len(graph), dtype=bool)
    first = cyclic[graph.rank[cyclic].argmin()]
    return np.asarray(component == component[first])


def _mutual(graph: OpGraph, labels: IntArray, joined: BoolArray) -> BoolArray:
    """Return where to cut submodels that need each other although no path comes back to where it left, `[E]`.

    The submodel of the earliest operation on the cycle has one operation that needs no other submodel of the cycle and
    one that does; it is cut between the two.
    """
    members = np.flatnonzero(_first_cycle(graph, labels))
    first = labels[members[graph.rank[members].argmin()]]
    others = set(np.unique(labels[members]).tolist()) - {int(first)}
    needs = [False] * len(graph)
    for op in graph.order.tolist():
        needs[op] = any(needs[p] or int(labels[p]) in others for p in graph.predecessors[op])
    source, target = graph.edges
    need = np.array(needs, dtype=bool)
    return np.asarray(joined & (labels[source] == first) & (need[source] != need[target]))
