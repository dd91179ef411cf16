"""Delta debugging: the smallest part of a cause that still has its effect."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TypeVar

T = TypeVar("T")


def smallest_failing(items: Sequence[T], fails: Callable[[Sequence[T]], bool]) -> list[T]:
    """Return a part of `items` that fails, of which no part without one item does.

    Source: Zeller & Hildebrandt, "Simplifying and isolating failure-inducing input", 2002, algorithm ddmin.
    Cost: between O(log n) and O(n^2) calls of `fails` for n items.

    Args:
        items: all of which together fail, and none of which does not.
        fails: whether some of them fail.

    Example:
        >>> smallest_failing(range(100), lambda part: {17, 42} <= set(part))
        [17, 42]
    """
    kept, parts = list(items), 2
    while len(kept) > 1:
        pieces = _divided(kept, parts)
        without = [[item for other in pieces if other is not piece for item in other] for piece in pieces]
        if (piece := next((piece for piece in pieces if fails(piece)), None)) is not None:
            kept, parts = piece, 2
        elif parts > 2 and (rest := next((rest for rest in without if fails(rest)), None)) is not None:
            kept, parts = rest, parts - 1
        elif parts == len(kept):
            break
        else:
            parts = min(2 * parts, len(kept))
    return kept


def _divided(items: list[T], parts: int) -> list[list[T]]:
    bounds = [len(items) * i // parts for i in range(parts + 1)]
    return [items[start:end] for start, end in pairwise(bounds)]
