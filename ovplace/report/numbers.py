"""Numbers as the page needs them."""

from __future__ import annotations

from math import isfinite
from typing import Any

from ovplace.core.result.labels import is_uncertain
from ovplace.core.statistics import Interval

Triple = tuple[float, float, float]


def triple(found: Interval | None) -> Triple | None:
    """Return an estimate with the ends of its interval, or with itself where these say nothing; None for none."""
    if found is None:
        return None
    return (found.value, found.value, found.value) if is_uncertain(found) else (found.value, found.low, found.high)


def short(value: Any) -> Any:
    """Return plain data whose floats have five significant digits: more cannot be seen, and would double the page.

    What is infinite or no number becomes None, as JSON knows neither.
    """
    if isinstance(value, float):
        return float(f"{value:.5g}") if isfinite(value) else None
    if isinstance(value, dict):
        return {key: short(item) for key, item in value.items()}
    return [short(item) for item in value] if isinstance(value, list | tuple) else value
