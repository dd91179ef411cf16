"""The operations that a device supports, also where its plugin cannot answer for the whole model."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import numpy as np
import openvino as ov

from ovplace.errors import PlacementError
from ovplace.graphs.op_graph import IntArray
from ovplace.ir.legal.groups import legal_groups
from ovplace.ir.parts.part import extract
from ovplace.ir.read import op_graph

MOST_QUERIES = 400
"""A dozen operations that a plugin chokes on are found among thousands; a plugin that never answers is left alone."""

Query = Callable[[ov.Model], set[str]]
"""From a model to the friendly names of the operations that a device supports."""


def supported_names(model: ov.Model, query: Query) -> set[str]:
    """Return the friendly names of the operations of `model` that a device supports.

    `Core.query_model` transforms the model as compiling does. If one operation makes that fail, there is no answer for
    any: then halves of the model are asked about, and halves of those that fail, down to legal groups.

    Args:
        model: the whole, read as `ir.read` numbers it.
        query: asks the device; raises `RuntimeError` where it cannot answer.
    """
    try:
        return query(model)
    except RuntimeError:
        return _by_halves(model, query)


def _by_halves(model: ov.Model, query: Query) -> set[str]:
    graph = op_graph(model)
    found: set[str] = set()
    waiting = deque(_halves(legal_groups(graph).members))
    for _ in range(MOST_QUERIES):
        if not waiting:
            break
        groups = waiting.popleft()
        part = np.concatenate(groups).tolist()
        try:
            found |= query(extract(model, part).model) & {graph.names[op] for op in part}
        except (RuntimeError, PlacementError):
            waiting += _halves(groups)
    return found


def _halves(groups: tuple[IntArray, ...]) -> list[tuple[IntArray, ...]]:
    middle = len(groups) // 2
    return [groups[:middle], groups[middle:]] if middle else []
