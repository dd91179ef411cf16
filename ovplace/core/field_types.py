"""Checking that values read from a file have the types of their dataclass fields."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, Union, get_args, get_origin, get_type_hints

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


def check_field_types(part: DataclassInstance) -> None:
    """Check the fields of a dataclass and of those in it.

    Raises:
        TypeError: a value is not of the type of its field; the text says which.
    """
    hints = get_type_hints(type(part))
    for field in fields(part):
        value = getattr(part, field.name)
        if not _fits(value, hints[field.name]):
            raise TypeError(f"'{field.name}' is {str(value)[:40]!r}")


def _fits(value: object, hint: Any) -> bool:
    origin, arguments = get_origin(hint), get_args(hint)
    if hint is Any:
        return True
    if origin in (Union, UnionType):
        return any(_fits(value, one) for one in arguments)
    if origin is tuple:
        return isinstance(value, tuple) and all(_fits(item, arguments[0]) for item in value)
    if origin is Mapping:
        return isinstance(value, Mapping) and all(_fits(item, arguments[1]) for item in value.values())
    return _is_a(value, NoneType if hint is None else hint)


def _is_a(value: object, kind: type) -> bool:
    if is_dataclass(kind) and isinstance(value, kind):
        check_field_types(value)
        return True
    if isinstance(value, bool):
        return kind is bool
    return isinstance(value, (int, float) if kind is float else kind)
