"""Parameters of which a few run with every test run, and the rest only with `pytest -m slow`."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TypeVar

import pytest
from _pytest.mark import ParameterSet

T = TypeVar("T")


def slow_except(fast: Collection[T], values: Iterable[T]) -> list[ParameterSet]:
    """Return parameters for `pytest.mark.parametrize`, marked `slow` unless they are in `fast`.

    Args:
        fast: values of the tests that run by default.
        values: all values.

    Raises:
        ValueError: a value of `fast` is not among `values`, such as a plug-in that has been renamed.
    """
    parameters = list(values)
    if missing := [value for value in fast if value not in parameters]:
        raise ValueError(f"{missing} are not among the parameters {parameters}: rename or remove them")
    return [pytest.param(value, marks=() if value in fast else pytest.mark.slow) for value in parameters]
