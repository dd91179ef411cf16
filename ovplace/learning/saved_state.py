"""Conversion between a placer's saved state and its dataclasses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from math import inf, isfinite
from typing import TYPE_CHECKING, Any, TypeVar

from ovplace.errors import StoreError

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

T = TypeVar("T", bound="DataclassInstance")


def from_saved(kind: type[T], data: Mapping[str, Any]) -> T:
    """Build a dataclass from its saved values; lists are copied.

    Args:
        kind: a dataclass whose fields all have defaults.
        data: values by field name, as `dataclasses.asdict` returned them.

    Raises:
        StoreError: the fields are those of another version of ovplace.
    """
    if data.keys() != {f.name for f in fields(kind)}:
        raise StoreError(
            "the state of this run was saved by another version of ovplace; start a new run in another folder with -o"
        )
    return kind(**{name: list(value) if isinstance(value, list) else value for name, value in data.items()})


def finite_or_none(ratios: Sequence[float]) -> list[float | None]:
    """Return latency ratios as JSON values: None for a failure."""
    return [ratio if isfinite(ratio) else None for ratio in ratios]


def none_to_inf(ratios: Sequence[float | None]) -> list[float]:
    """Return the ratios that `finite_or_none` converted: infinite for a failure."""
    return [inf if ratio is None else ratio for ratio in ratios]
