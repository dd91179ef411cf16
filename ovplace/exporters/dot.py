"""The operations as a Graphviz graph: a colour a device, and the bytes on every edge between devices."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import openvino as ov

from ovplace.graphs.op_graph import OpGraph
from ovplace.ir import placed_model
from ovplace.ir.read import op_graph
from ovplace.plugins import protocols

SUMMARY = "Graphviz, a colour for each device, transfers on the edges"

_COLOURS = ("#9ecae1", "#fdae6b", "#a1d99b", "#bcbddc", "#fc9272", "#d9d9d9")


@dataclass(frozen=True)
class Config:
    """There is nothing to set."""


class Exporter(protocols.TextExporter):
    """Draws operations as boxes in the colour of their device."""

    def text(self, folder: Path) -> str:
        """Return the graph of `folder` in Graphviz's language; Constants are left out, HETERO copies them anyway."""
        found = placed_model.read_placed(ov.Core(), folder)
        return "\n".join(_lines(op_graph(found.model), found.table)) + "\n"


def _lines(graph: OpGraph, table: Mapping[str, str]) -> Iterator[str]:
    devices = sorted(set(table.values()))
    colour = {device: _COLOURS[i % len(_COLOURS)] for i, device in enumerate(devices)}
    shown = [i for i, kind in enumerate(graph.types) if kind != "Constant"]
    yield "digraph placement {"
    yield '  node [shape=box, style=filled, fontname="sans-serif"];'
    for number, device in enumerate(devices):
        yield f"  legend{number} [label={_quoted(device)}, shape=ellipse, fillcolor={_quoted(colour[device])}];"
    for i in shown:
        label = f"{graph.types[i]}\n{graph.names[i]}\n{table[graph.names[i]]}"
        yield f"  op{i} [label={_quoted(label)}, fillcolor={_quoted(colour[table[graph.names[i]]])}];"
    yield from _edges(graph, table, set(shown))
    yield "}"


def _edges(graph: OpGraph, table: Mapping[str, str], shown: set[int]) -> Iterator[str]:
    for (source, target), n_bytes in zip(graph.edges.T.tolist(), graph.out_bytes.tolist(), strict=True):
        if source not in shown:
            continue
        cut = table[graph.names[source]] != table[graph.names[target]]
        style = f' [label="{n_bytes} B", color=red, penwidth=2]' if cut else ""
        yield f"  op{source} -> op{target}{style};"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
