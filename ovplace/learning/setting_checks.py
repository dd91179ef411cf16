"""Checks of settings that learned placers have in common."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import fields
from math import inf
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


def check_choices(settings: DataclassInstance, known: Mapping[str, Collection[str]]) -> None:
    """Check settings that have one of a few values.

    Args:
        settings: a placer's settings.
        known: the values that each of these settings may have, by its name.

    Raises:
        ValueError: one has another value.
    """
    for name, values in known.items():
        if getattr(settings, name) not in values:
            raise ValueError(f"{name} must be one of {', '.join(values)}, got '{getattr(settings, name)}'")


def check_numbers(settings: DataclassInstance, at_least_one: Collection[str]) -> None:
    """Check that all numbers are finite and not negative.

    Args:
        settings: a placer's settings.
        at_least_one: names of those that must be at least 1.

    Raises:
        ValueError: one is out of its range.
    """
    for field in fields(settings):
        value, least = getattr(settings, field.name), 1 if field.name in at_least_one else 0
        if isinstance(value, int | float) and not least <= value < inf:
            raise ValueError(f"{field.name} must be at least {least} and finite, got {value}")
