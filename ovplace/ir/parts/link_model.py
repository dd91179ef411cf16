"""A small model from whose parts the costs of links between devices are measured.

It consists of pieces that do not touch each other, with tensors of different sizes, each in four stages:

    Parameter -> 0 -> k times 1 -> k times 2 -> joined by 3 -> Result

Cut behind stage 1, k tensors pass from one submodel to another; with stages 1 and 2 elsewhere, each branch of them is
a submodel.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import openvino as ov
from openvino import opset13 as ops

from ovplace.errors import StoreError
from ovplace.ir.exceptions import unwritten
from ovplace.ir.parts.link_piece import STAGES, Piece
from ovplace.ir.read import read_graph

_WIDTH = 64


def save_link_model(path: Path, wanted: Sequence[tuple[int, int]]) -> tuple[int, tuple[Piece, ...]]:
    """Write the model with a piece for each wanted (tensor bytes, branches); return its operations and pieces.

    Args:
        path: the `.xml` to write.
        wanted: tensor size in bytes and number of branches of each piece.

    Returns:
        The number of operations, and the pieces in the order of `wanted`.

    Raises:
        ModelError: the written model cannot be read.
        StoreError: it cannot be written.
    """
    outputs, inputs = zip(*(_piece(i, size, k) for i, (size, k) in enumerate(wanted)), strict=True)
    try:
        ov.save_model(ov.Model(list(outputs), list(inputs)), path, compress_to_fp16=False)
    except (OSError, RuntimeError) as error:
        raise StoreError(f"cannot write '{path}': {unwritten(error, path.parent)}") from error
    graph = read_graph(path)
    found = []
    for i, (size, k) in enumerate(wanted):
        stages = tuple(
            tuple(n for n, name in enumerate(graph.names) if name.startswith(f"{i}/{stage}/"))
            for stage in range(STAGES)
        )
        found.append(Piece(size, k, stages))
    return len(graph), tuple(found)


def _piece(number: int, size: int, branches: int) -> tuple[ov.Node, ov.Node]:
    rows = max(1, size // 4 // _WIDTH)
    x = ops.parameter([rows, _WIDTH], np.float32, name=f"{number}/0/x")
    first = _step(x, f"{number}/0/step")
    middle = [_step(_step(first, f"{number}/1/{i}", i), f"{number}/2/{i}") for i in range(branches)]
    joined = middle[0]
    for i, branch in enumerate(middle[1:]):
        joined = ops.add(joined, branch, name=f"{number}/3/join{i}")
    return ops.result(_step(joined, f"{number}/3/step"), name=f"{number}/3/y"), x


def _step(x: ov.Node, name: str, distinct: int = 0) -> ov.Node:
    """Return an operation that no plugin fuses with its neighbours, and that differs from its siblings."""
    axis = 1 - distinct % 2
    return ops.softmax(x, axis, name=name)
