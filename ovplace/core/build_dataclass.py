"""Dataclasses from plain values: those of TOML, or the texts of `--set`."""

from __future__ import annotations

import dataclasses
import tomllib
from math import isnan
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from ovplace.errors import ConfigError


def build_dataclass(kind: Any, values: dict[str, object], place: str, of: str = "") -> Any:
    """Build a dataclass from plain values, with each key and type checked.

    Args:
        kind: the dataclass.
        values: value of each key: of TOML, or texts of `--set`.
        place: section of the keys, for error texts; empty where they stand in none.
        of: whose settings they are, to be written behind a key or a section.

    Raises:
        ConfigError: naming the key's place, the value seen and what is known.
    """
    hints = get_type_hints(kind)
    known, dot = {f.name for f in dataclasses.fields(kind)}, f"{place}." if place else ""
    for key in values:
        if key not in known:
            raise ConfigError(f"unknown key '{dot}{key}'{of}; known: {', '.join(sorted(known)) or 'none'}")
    converted = {key: _convert(hints[key], value, f"{dot}{key}") for key, value in values.items()}
    try:
        return kind(**converted)
    except ValueError as error:
        where = f" in '{place}'" if place else of
        raise ConfigError(f"bad value{where}: {error}") from error


def _convert(hint: Any, value: Any, place: str) -> object:
    """Convert a TOML value, or the text of `--set`, to the type of a field."""
    options = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    if value in (None, "none") and NoneType in options:
        return None
    target = next(option for option in options if option is not NoneType)
    origin = getattr(target, "__origin__", target)
    try:
        if origin is bool:
            return _boolean(value)
        if origin is tuple:
            return tuple(_convert(get_args(target)[0], item, place) for item in _items(value))
        if origin in (int, float, str) and not isinstance(value, bool | list | dict):
            if origin is int and not isinstance(value, str) and value != int(value):
                raise ValueError
            converted = origin(value)
            if origin is float and isnan(converted):  # it is in no range, so that no check of one notices it
                raise ValueError
            return converted
        if isinstance(value, origin) and not isinstance(value, bool):
            return value
    except (TypeError, ValueError, OverflowError, RecursionError):
        pass
    wanted = "a list" if origin is tuple else getattr(target, "__name__", target)
    raise ConfigError(f"'{place}' must be {wanted}, got '{value}'")


def _items(value: Any) -> Any:
    """Return the items of a list of TOML, or of its text with `--set`: `a,b` or `["a", "b"]`."""
    if not isinstance(value, str):
        return value
    if value.startswith("["):
        return tomllib.loads(f"items = {value}")["items"]  # what is not TOML is a ValueError
    return [item.strip() for item in value.split(",")]


def _boolean(value: object) -> bool:
    table = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
    if str(value).lower() not in table:
        raise ValueError
    return table[str(value).lower()]
