"""The operations as a Graphviz graph: a colour a device, a cluster a submodel, and the bytes between devices."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import openvino as ov

from ovplace.core.placement import Placement
from ovplace.exporters._control_characters import written_out
from ovplace.graphs.op_graph import IntArray, OpGraph
from ovplace.graphs.submodels import running_submodels, submodel_devices
from ovplace.ir.placed_model import read_placed
from ovplace.ir.read import op_graph
from ovplace.plugins import protocols

SUMMARY = "Graphviz, a colour for each device, a cluster for each submodel, transfers on the edges"

_ESCAPED = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n", "&": "&amp;"})
"""What is no plain text in a label (https://graphviz.org/docs/attr-types/escString/)."""

_COLOURS = ("#9ecae1", "#fdae6b", "#a1d99b", "#bcbddc", "#fc9272", "#d9d9d9")


@dataclass(frozen=True)
class Config:
    """There is nothing to set."""


class Exporter(protocols.TextExporter):
    """Draws operations as boxes in the colour of their device."""

    target: ClassVar[str] = "placement.dot"

    def text(self, folder: Path) -> str:
        """Return the graph of `folder` in Graphviz's language; Constants are left out, HETERO copies them anyway."""
        found = read_placed(ov.Core(), folder)
        graph = op_graph(found.model)
        placement = Placement.from_names(graph, found.table)
        label = {device.name: device.label for device in found.devices}
        return "\n".join(_lines(graph, placement, [label[name] for name in placement.devices])) + "\n"


def _lines(graph: OpGraph, placement: Placement, names: Sequence[str]) -> Iterator[str]:
    submodels = running_submodels(graph, placement.device_of)
    of_submodel = submodel_devices(graph, placement.device_of, submodels)
    yield "digraph placement {"
    yield '  node [shape=box, style=filled, fontname="sans-serif"];'
    for d in sorted(set(of_submodel)):
        yield f"  legend{d} [label={_quoted(names[d])}, shape=ellipse, fillcolor={_colour(d)}];"
    for number, (operations, d) in enumerate(zip(submodels, of_submodel, strict=True)):
        yield from _cluster(graph, number, operations, names[d], _colour(d))
    device_of = {i: d for operations, d in zip(submodels, of_submodel, strict=True) for i in operations.tolist()}
    yield from _edges(graph, device_of)
    yield "}"


def _cluster(graph: OpGraph, number: int, operations: IntArray, device: str, colour: str) -> Iterator[str]:
    yield f"  subgraph cluster{number} {{"
    yield f"    label={_quoted(f'submodel {number}: {device}')};"
    for i in operations.tolist():
        if graph.types[i] != "Constant":
            label = f"{graph.types[i]}\n{graph.names[i]}\n{device}"
            yield f"    op{i} [label={_quoted(label)}, fillcolor={colour}];"
    yield "  }"


def _edges(graph: OpGraph, device_of: Mapping[int, int]) -> Iterator[str]:
    for (source, target), n_bytes in zip(graph.edges.T.tolist(), graph.out_bytes.tolist(), strict=True):
        if graph.types[source] == "Constant":
            continue
        style = f' [label="{n_bytes} B", color=red, penwidth=2]' if device_of[source] != device_of[target] else ""
        yield f"  op{source} -> op{target}{style};"


def _colour(device: int) -> str:
    return f'"{_COLOURS[device % len(_COLOURS)]}"'


def _quoted(text: str) -> str:
    return f'"{written_out(text).translate(_ESCAPED)}"'
