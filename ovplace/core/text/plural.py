"""Numbers of things in words."""

from __future__ import annotations


def plural(count: int, noun: str) -> str:
    """Return how many things there are, such as `1 group` or `2 groups`.

    Args:
        count: number of things.
        noun: what one of them is called; its plural takes an s.
    """
    return f"{count} {noun}{'s' * (count != 1)}"
