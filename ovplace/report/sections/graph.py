"""The graph of a placement: operations, boxes and boundaries as columns, so that 10,000 operations stay small."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from ovplace.core.cost_table import CostTable
from ovplace.graphs.op_graph import IntArray, Shape
from ovplace.report.evidence import Evidence
from ovplace.report.sections.boundaries import boundaries
from ovplace.report.sections.boxes import Boxes, boxes_of

Value = TypeVar("Value")


@dataclass(frozen=True)
class OpColumns:
    """The operations without Constants, which HETERO copies into each reader, `[M]` each.

    Attributes:
        name: friendly names.
        type: indices into `types`.
        output: indices into `outputs`.
        device: indices into the devices.
        group: the group that each was placed with.
        box: the innermost box, -1 at the top.
        types: distinct operation types.
        outputs: distinct texts of shapes and element types.
    """

    name: tuple[str, ...]
    type: tuple[int, ...]
    output: tuple[int, ...]
    device: tuple[int, ...]
    group: tuple[int, ...]
    box: tuple[int, ...]
    types: tuple[str, ...]
    outputs: tuple[str, ...]


@dataclass(frozen=True)
class EdgeColumns:
    """The connections of operations, `[E]` each.

    Attributes:
        source: operation that writes the tensor.
        target: operation that reads it.
        n_bytes: its size.
    """

    source: tuple[int, ...]
    target: tuple[int, ...]
    n_bytes: tuple[int, ...]


@dataclass(frozen=True)
class BoundaryColumns:
    """The tensors that are copied to another device, as in `Boundaries`, operations counted as in `OpColumns`."""

    source: tuple[int, ...]
    target: tuple[int, ...]
    readers: tuple[int, ...]
    n_bytes: tuple[int, ...]
    ms: tuple[float | None, ...]


@dataclass(frozen=True)
class GraphSection:
    """The graph of a placement.

    Attributes:
        devices: labels of the devices, `[D]`.
        ops: the operations.
        edges: their connections.
        boundaries: what is copied between devices.
        boxes: the nested boxes; its `box_of` is in `ops.box`.
        group_ms: predicted time of each group on each device, None where it cannot run, `[G][D]`; empty without a
            cost table.
        constants: number of Constants, which are not drawn.
    """

    devices: tuple[str, ...]
    ops: OpColumns
    edges: EdgeColumns
    boundaries: BoundaryColumns
    boxes: dict[str, list[int] | list[str]]
    group_ms: tuple[tuple[float | None, ...], ...]
    constants: int


def graph_section(evidence: Evidence) -> GraphSection:
    """Return the graph of the answer."""
    run, graph = evidence.run, evidence.run.graph
    drawn = ~graph.is_constant
    boxes = boxes_of([ops[drawn[ops]] for ops in evidence.answer.submodels], run.partition.group_of, graph.rank)
    shown = np.flatnonzero(drawn)
    position = np.full(len(graph), -1, dtype=np.int64)
    position[shown] = np.arange(len(shown))
    kept = np.flatnonzero(position[graph.edges[0]] >= 0)
    source, target = position[graph.edges[:, kept]].tolist()
    return GraphSection(
        devices=tuple(map(evidence.label, run.devices)),
        ops=_ops(evidence, boxes, shown),
        edges=EdgeColumns(tuple(source), tuple(target), tuple(graph.out_bytes[kept].tolist())),
        boundaries=_boundaries(evidence, position),
        boxes={"parent": boxes.parent, "kind": boxes.kind, "number": boxes.number},
        group_ms=_group_ms(evidence.costs),
        constants=len(graph) - len(shown),
    )


def _ops(evidence: Evidence, boxes: Boxes, shown: IntArray) -> OpColumns:
    graph, chosen = evidence.run.graph, shown.tolist()
    types, type_of = _distinct(graph.types[i] for i in chosen)
    outputs, output_of = _distinct(_output(graph.shapes[i], graph.element_types[i]) for i in chosen)
    return OpColumns(
        name=tuple(graph.names[i] for i in chosen),
        type=type_of,
        output=output_of,
        device=tuple(evidence.answer.device_of[shown].tolist()),
        group=tuple(evidence.run.partition.group_of[shown].tolist()),
        box=tuple(boxes.box_of[i] for i in chosen),
        types=types,
        outputs=outputs,
    )


def _output(shapes: Iterable[Shape], element_types: Iterable[str]) -> str:
    """Return the tensors that an operation writes as text, such as `[1, 64, 7, 7] f32`."""
    return ", ".join(
        f"[{', '.join('?' if n < 0 else str(n) for n in shape)}] {kind}"
        for shape, kind in zip(shapes, element_types, strict=True)
    )


def _distinct(values: Iterable[Value]) -> tuple[tuple[Value, ...], tuple[int, ...]]:
    """Return the distinct values in the order of their first appearance, and the index of each."""
    index: dict[Value, int] = {}
    found = tuple(index.setdefault(value, len(index)) for value in values)
    return tuple(index), found


def _boundaries(evidence: Evidence, position: IntArray) -> BoundaryColumns:
    found = boundaries(evidence.run.graph, evidence.answer.device_of)
    return BoundaryColumns(
        source=tuple(position[found.source].tolist()),
        target=tuple(position[found.target].tolist()),
        readers=tuple(found.readers.tolist()),
        n_bytes=tuple(found.n_bytes.tolist()),
        ms=tuple(found.ms(evidence.costs).tolist() if evidence.costs else [None] * len(found.source)),
    )


def _group_ms(costs: CostTable | None) -> tuple[tuple[float | None, ...], ...]:
    if costs is None:
        return ()
    return tuple(tuple(ms if np.isfinite(ms) else None for ms in row) for row in costs.group_ms.tolist())
