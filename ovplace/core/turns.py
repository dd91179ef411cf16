"""The order in which candidates take turns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

Item = TypeVar("Item")


def rotated(items: Sequence[Item], turn: int) -> list[Item]:
    """Return items in the order of one turn: each next turn begins with the next item.

    Over as many turns as there are items, each is at each place once, so drift favours none. There and back would
    favour the first and the last of three or more: in half of the turns they would follow themselves, with their
    weights still in the processor's caches. A decoder of 2 ms takes 12 % longer for the first inference after another
    model, and 2 % for the tenth.

    Args:
        items: in the order of turn 0.
        turn: number of the turn; a negative one undoes it.
    """
    first = turn % len(items) if items else 0
    return [*items[first:], *items[:first]]
