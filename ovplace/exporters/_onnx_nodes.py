"""The nodes of an ONNX file, read without the package onnx, which is no dependency.

Source: onnx `onnx/onnx.proto`, the fields of ModelProto, GraphProto and NodeProto; protobuf's encoding
(https://protobuf.dev/programming-guides/encoding/).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_GRAPH = 7
_NODE = 1
_OUTPUT, _NAME, _TYPE = 2, 3, 4

_BYTES = 2
"""Wire type of what has a length: texts and messages."""

_FIXED = {1: 8, 5: 4}
"""Length of numbers by their wire type; those of type 0 say it themselves."""


@dataclass(frozen=True)
class Node:
    """A node of the main graph.

    Attributes:
        name: its name, which may be empty.
        outputs: names of the tensors it computes.
    """

    name: str
    outputs: tuple[str, ...]


def read_nodes(path: Path) -> list[Node]:
    """Return the nodes of an ONNX file, in order; Constant nodes, which ONNX Runtime turns into weights, are left out.

    Args:
        path: the file.

    Raises:
        OSError: it cannot be read.
        ValueError: it is no ONNX file.
    """
    model = memoryview(path.read_bytes())
    try:
        found = [_texts(node) for graph in _inside(model, _GRAPH) for node in _inside(graph, _NODE)]
    except IndexError:
        raise ValueError("it ends too early") from None
    return [
        Node("".join(node.get(_NAME, ())), tuple(node.get(_OUTPUT, ())))
        for node in found
        if node.get(_TYPE) != ["Constant"]
    ]


def _texts(node: memoryview) -> dict[int, list[str]]:
    """Return the names that a node has, by field."""
    texts: dict[int, list[str]] = {}
    for field, content in _fields(node):
        if field in (_OUTPUT, _NAME, _TYPE):
            texts.setdefault(field, []).append(str(content, "utf-8"))
    return texts


def _inside(message: memoryview, wanted: int) -> Iterator[memoryview]:
    return (content for field, content in _fields(message) if field == wanted)


def _fields(message: memoryview) -> Iterator[tuple[int, memoryview]]:
    """Yield the number and content of each field that has a length."""
    at = 0
    while at < len(message):
        tag, at = _number(message, at)
        field, kind = divmod(tag, 8)
        if kind == _BYTES:
            length, at = _number(message, at)
            yield field, message[at : at + length]
            at += length
        elif kind in _FIXED:
            at += _FIXED[kind]
        elif kind == 0:
            _, at = _number(message, at)
        else:
            raise ValueError(f"it has a field of the unknown type {kind}")
    if at > len(message):
        raise IndexError


def _number(message: memoryview, at: int) -> tuple[int, int]:
    """Return the number at a place, seven bits in each byte, the lowest first; and the place behind it."""
    value = place = 0
    while message[at] >= 0x80:
        value |= (message[at] & 0x7F) << place
        at, place = at + 1, place + 7
    return value | message[at] << place, at + 1
