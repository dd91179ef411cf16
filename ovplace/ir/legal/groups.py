"""Legal groups: the operations that HETERO cannot run apart."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ovplace.core.partition import Partition
from ovplace.graphs.computed_from import computed_from
from ovplace.graphs.dag import connected_labels
from ovplace.graphs.op_graph import OpGraph
from ovplace.graphs.op_kinds import FREE
from ovplace.ir.legal.cycle_constraints import cycle_constraints
from ovplace.ir.legal.state import state_links, state_pairs, state_paths

_VECTOR_ELEMENTS = 64
"""What is longer is data, not a shape: shapes, pads and orders have one number a dimension, splits one a part."""

_SHAPE_PORTS: dict[str, frozenset[int]] = {
    kind: frozenset(ports)
    for kind, ports in {
        "AdaptiveAvgPool": (1,), "AdaptiveMaxPool": (1,), "BatchToSpace": (1, 2, 3), "Broadcast": (1, 2),
        "Col2Im": (1, 2), "ConvolutionBackpropData": (2,), "GroupConvolutionBackpropData": (2,), "DFT": (1, 2),
        "Eye": (0, 1, 2, 3), "IDFT": (1, 2), "Interpolate": (1, 2, 3), "IRDFT": (1, 2),
        "NonMaxSuppression": (2,), "OneHot": (1,), "Pad": (1, 2), "RDFT": (1, 2), "RandomUniform": (0,),
        "Range": (0, 1, 2), "Reshape": (1,), "Slice": (1, 2, 3, 4), "SliceScatter": (2, 3, 4, 5),
        "SpaceToBatch": (1, 2, 3), "Split": (1,), "Squeeze": (1,), "StridedSlice": (1, 2, 3), "Tile": (1,),
        "TopK": (1,), "Transpose": (1,), "Unsqueeze": (1,), "VariadicSplit": (1, 2),
    }.items()
}  # fmt: skip
"""Inputs that decide the shape of an output, by operation type (OpenVINO opset 1 to 16)."""

Pairs = Iterator[tuple[int, int]]


def legal_groups(graph: OpGraph) -> Partition:
    """Return a fine partition of which every assignment of devices to groups compiles and runs under HETERO.

    One kind of assignment does not: where HETERO, to avoid a cycle of submodels, cuts an output off from an operation
    that others read as well. `stages_of` refuses it. It is rare, and joining what could prevent it would join whole
    transformers, whose caches of keys and values are such outputs.

    Joined are: Constants and Parameters with their first consumer, Results with their producer; operations computed
    from constants with all that read them; shape computations with the operations they shape; both ends of a tensor of
    unknown shape; each variable's ReadValue and Assign with what lies between, or else connects them; and whatever
    would make HETERO cut one of the last three apart again. What computes nothing joins the first group.

    Args:
        graph: a prepared model: static inputs, constants and shapes folded.

    Source: openvino `src/plugins/hetero/src/subgraph_collector.cpp` (2026): shapes are inferred anew in each submodel,
    so that a shape that arrives as a tensor from another one is unknown there.
    """
    known = computed_from(graph, ("Constant",))
    shapes = computed_from(graph, ("Constant", "ShapeOf")) - known
    weights = {op for op in known if not graph.is_constant[op]}
    computing = [i for i in graph.order.tolist() if graph.types[i] not in FREE and i not in weights]
    if not computing:
        return Partition.from_labels(np.zeros(len(graph), dtype=np.int64))
    states = [*state_paths(graph), *state_links(graph)]
    uncut = [*_with_readers(graph, shapes), *_shaping(graph), *_dynamic(graph), *states]
    pairs = [
        *uncut,
        *cycle_constraints(graph, uncut),
        *_with_readers(graph, weights),
        *state_pairs(graph),
        *_attached(graph, weights, computing[0]),
    ]
    return Partition.from_labels(connected_labels(len(graph), np.array(pairs, dtype=np.int64).reshape(-1, 2).T))


def _with_readers(graph: OpGraph, ops: set[int]) -> Pairs:
    for i in ops:
        yield from ((i, reader) for reader in graph.successors[i] if graph.types[reader] != "Result")


def _shaping(graph: OpGraph) -> Pairs:
    """Yield the short integer vectors that decide shapes at run time, and what they are computed from alike."""
    waiting = [
        edge
        for edge, reader in enumerate(graph.edges[1].tolist())
        if int(graph.ports[1, edge]) in _SHAPE_PORTS.get(graph.types[reader], ())
    ]
    seen = set(waiting)
    while waiting:
        edge = waiting.pop()
        source, reader = graph.edges[:, edge].tolist()
        if graph.types[source] in FREE or not _is_vector(graph, source, int(graph.ports[0, edge])):
            continue
        yield source, reader
        waiting += [more for more in graph.incoming[source] if more not in seen]
        seen.update(graph.incoming[source])


def _dynamic(graph: OpGraph) -> Pairs:
    """Yield the connections of unknown shape: HETERO passes them as a tensor of size 0, which `[?, 4]` refuses."""
    for edge, (source, reader) in enumerate(graph.edges.T.tolist()):
        if -1 in graph.shapes[source][graph.ports[0, edge]] and graph.types[reader] != "Result":
            yield source, reader


def _is_vector(graph: OpGraph, op: int, port: int) -> bool:
    shape = graph.shapes[op][port]
    integer = graph.element_types[op][port] in ("i32", "i64")
    return integer and len(shape) <= 1 and all(0 <= length <= _VECTOR_ELEMENTS for length in shape)


def _attached(graph: OpGraph, weights: set[int], first: int) -> Pairs:
    """Yield what Parameters, Constants and Results belong to; `first` gets what no computing operation reads."""
    for i, kind in enumerate(graph.types):
        readers = [reader for reader in graph.successors[i] if graph.types[reader] != "Result"]
        if kind == "Result":
            yield graph.predecessors[i][0], i
        elif not readers and (kind in FREE or i in weights):
            yield i, first
        elif kind in FREE:
            yield i, min(readers, key=lambda reader: int(graph.rank[reader]))
