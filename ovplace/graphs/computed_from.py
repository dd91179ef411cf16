"""Operations whose results follow from operations of some types alone."""

from __future__ import annotations

from collections.abc import Collection

from ovplace.graphs.op_graph import OpGraph
from ovplace.graphs.op_kinds import RANDOM

_NEVER = frozenset({"Parameter", "ReadValue", "Result"}) | RANDOM
"""Types whose results do not follow from what they read, and Results, which compute nothing."""


def computed_from(graph: OpGraph, roots: Collection[str]) -> set[int]:
    """Return the operations of the types `roots`, and all that are computed from those alone.

    Args:
        graph: the model.
        roots: operation types, such as Constant.
    """
    found: set[int] = set()
    for op in graph.order.tolist():
        kind, sources = graph.types[op], graph.predecessors[op]
        if kind in roots or (sources and kind not in _NEVER and found.issuperset(sources)):
            found.add(op)
    return found
