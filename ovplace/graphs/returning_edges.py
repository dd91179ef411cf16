"""The first of HETERO's two ways to cut submodels that need each other: where data comes back to where it left."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ovplace.graphs.op_graph import BoolArray, IntArray, OpGraph
from ovplace.graphs.op_kinds import GRAPH_INPUTS


def returning_edges(graph: OpGraph, labels: IntArray, joined: BoolArray) -> BoolArray:
    """Return which joined edges HETERO makes boundaries in one round, `[E]`.

    An edge is cut where it enters what depends on its own submodel through another one, and both that dependence and
    the edge's source go back to the same boundary into the submodel. The only reader of a source that depends on no
    submodel but through graph inputs stays joined to it.

    Args:
        graph: the model.
        labels: submodel of each operation, `[N]`.
        joined: edges that are not boundaries, `[E]`.
    """
    deps = _dependencies(graph, labels, joined)
    keeps = graph.is_only_reader.tolist()
    sources, targets = graph.edges.tolist()
    cut = np.zeros(len(joined), dtype=bool)
    for edge in np.flatnonzero(joined).tolist():
        source, op = sources[edge], targets[edge]
        begins = deps.returning[op] and not deps.returning[source]
        if begins and deps.passed[op] & deps.entering[source]:
            cut[edge] = not keeps[edge] or bool(deps.entering[source] & ~deps.plain)
    return cut


@dataclass(frozen=True)
class _Dependencies:
    """Dependences of each operation, as bit masks over boundaries; bit number = edge, or E + op for graph inputs."""

    entering: list[int]  # boundaries into the operation's own submodel
    returning: list[bool]  # whether on boundaries that the operation's own submodel produces
    passed: list[int]  # of `entering`, those that lie before where that submodel is left or entered again
    plain: int  # boundaries that carry graph inputs


def _boundaries(
    graph: OpGraph, submodel: Sequence[int], joined: BoolArray, inputs: Mapping[int, int]
) -> tuple[list[int], list[int], int]:
    """Return the boundaries into each submodel, those out of it, `[N]` each by label, and those that are graph inputs.

    Args:
        graph: the model.
        submodel: submodel of each operation, `[N]`.
        joined: edges that are not boundaries, `[E]`.
        inputs: bit of each graph input, by its operation.
    """
    into, out_of, plain = [0] * len(graph), [0] * len(graph), sum(inputs.values())
    for op, bit in inputs.items():
        into[submodel[op]] |= bit
    sources, targets = graph.edges.tolist()
    for edge in np.flatnonzero(~joined).tolist():
        into[submodel[targets[edge]]] |= 1 << edge
        out_of[submodel[sources[edge]]] |= 1 << edge
        plain |= (sources[edge] in inputs) << edge
    return into, out_of, plain


def _dependencies(graph: OpGraph, labels: IntArray, joined: BoolArray) -> _Dependencies:
    sources = graph.edges[0].tolist()
    submodel, boundary = labels.tolist(), (~joined).tolist()
    inputs = {op: 1 << (len(sources) + op) for op in range(len(graph)) if graph.types[op] in GRAPH_INPUTS}
    into, out_of, plain = _boundaries(graph, submodel, joined, inputs)
    before, passed = [inputs.get(op, 0) for op in range(len(graph))], [0] * len(graph)
    for op in graph.order.tolist():
        own = into[submodel[op]]
        for edge in graph.incoming[op]:
            source = sources[edge]
            before[op] |= before[source] | boundary[edge] << edge
            passed[op] |= passed[source]
            if boundary[edge]:
                passed[op] |= before[source] & into[submodel[source]]
        if any(submodel[sources[edge]] != submodel[op] for edge in graph.incoming[op]):
            passed[op] |= before[op] & own
    return _Dependencies(
        entering=[mask & into[label] for mask, label in zip(before, submodel, strict=True)],
        returning=[bool(mask & out_of[label]) for mask, label in zip(before, submodel, strict=True)],
        passed=[mask & into[label] for mask, label in zip(passed, submodel, strict=True)],
        plain=plain,
    )
