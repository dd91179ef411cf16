"""The nested boxes that the graph of a placement is drawn in: submodels, parts of them, groups, operations.

A box holds at most `FAN_OUT` others: a longer row is divided into parts of consecutive ones. What is open in the page
is then always small, however large the model is, and one level is laid out in milliseconds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from ovplace.graphs.op_graph import IntArray

FAN_OUT = 14

SUBMODEL, GROUP, PART = "submodel", "group", "part"


@dataclass
class Boxes:
    """The boxes of a placement, parents before their children.

    Attributes:
        parent: of each box, -1 at the top, `[B]`.
        kind: `submodel`, `group` or `part`, `[B]`.
        number: of the submodel in running order, of the group, or of the part among its siblings, `[B]`.
        box_of: box of each operation, -1 at the top, `[N]`.
    """

    parent: list[int] = field(default_factory=list)
    kind: list[str] = field(default_factory=list)
    number: list[int] = field(default_factory=list)
    box_of: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class _Box:
    kind: str
    number: int
    content: Sequence[_Box | int]


def boxes_of(submodels: Iterable[IntArray], group_of: IntArray, rank: IntArray) -> Boxes:
    """Return the boxes of a placement.

    Args:
        submodels: operations to be drawn of each submodel, in running order.
        group_of: group of each operation, `[N]`.
        rank: position of each operation in a topological order, `[N]`.
    """
    made = Boxes(box_of=[-1] * len(group_of))
    outer = [_Box(SUBMODEL, number, _groups(ops, group_of, rank)) for number, ops in enumerate(submodels)]
    _add(made, outer, -1)
    return made


def _groups(ops: IntArray, group_of: IntArray, rank: IntArray) -> list[_Box | int]:
    """Return the groups of a submodel in order; one of a single operation is that operation."""
    ordered = ops[np.argsort(rank[ops])]
    members: dict[int, list[int]] = {}
    for op in ordered.tolist():
        members.setdefault(int(group_of[op]), []).append(op)
    if len(members) == 1:
        return list(ordered.tolist())
    return [_Box(GROUP, group, ops) if len(ops) > 1 else ops[0] for group, ops in members.items()]


def _add(made: Boxes, content: Sequence[_Box | int], parent: int) -> None:
    for item in _divided(content):
        if isinstance(item, int):
            made.box_of[item] = parent
            continue
        box = len(made.parent)
        made.parent.append(parent)
        made.kind.append(item.kind)
        made.number.append(item.number)
        _add(made, item.content, box)


def _divided(content: Sequence[_Box | int]) -> Sequence[_Box | int]:
    """Return `content`, in parts of equal length if it is too long."""
    if len(content) <= FAN_OUT:
        return content
    length = FAN_OUT
    while length * FAN_OUT < len(content):
        length *= FAN_OUT
    count = -(-len(content) // length)
    bounds = np.linspace(0, len(content), count + 1).astype(int)
    pieces = [content[start:end] for start, end in pairwise(bounds.tolist())]
    return [_Box(PART, number, piece) if len(piece) > 1 else piece[0] for number, piece in enumerate(pieces)]
