"""Durations as users write them."""

from __future__ import annotations

import re

from ovplace.errors import UsageError

_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0}
_DURATION = re.compile(r"(?:\d++(?:\.\d++)?[smh]?)+")  # "++": no number is divided to make a text fit
_PART = re.compile(r"(\d+(?:\.\d+)?)([smh]?)")


def seconds(value: str | float) -> float:
    """Return the seconds of a duration such as `90`, `90s`, `10m` or `1h30m`.

    Raises:
        UsageError: it is no duration, or not positive.

    Example:
        >>> seconds("1h30m")
        5400.0
    """
    text = str(value)
    if not _DURATION.fullmatch(text):
        raise UsageError(f"'{text}' is not a duration; write 90s, 10m or 1h30m")
    found = sum(float(number) * _UNITS[unit or "s"] for number, unit in _PART.findall(text))
    if found <= 0:
        raise UsageError(f"a duration must be positive, got '{text}'; leave it out for the default")
    return found
