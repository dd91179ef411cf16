"""Booleans that callers of the Python interface give."""

from __future__ import annotations

from ovplace.errors import UsageError


def given_bool(value: object, name: str) -> bool:
    """Return a boolean that a caller gave, or the number 0 or 1, also of numpy; None is false.

    Args:
        value: what was given.
        name: the keyword argument, for the error text.

    Raises:
        UsageError: it is something else, such as the text `no`, which would count as true.
    """
    if isinstance(value, str) or value not in (True, False, None):
        raise UsageError(f"{name} must be True or False, got {value!r:.80}")
    return bool(value)
