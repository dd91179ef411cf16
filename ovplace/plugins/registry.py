"""Plug-ins are found by file name or entry point, without importing them.

A file `ovplace/placers/cut.py` is the placer `cut`; another package adds one with an entry point in the group
`ovplace.placers` whose value is a module of the same form. Files whose name begins with `_` are not plug-ins.
"""

from __future__ import annotations

import dataclasses
import difflib
import importlib
import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType, NoneType, UnionType
from typing import Any, get_args, get_type_hints

from ovplace.errors import ConfigError, UsageError

ROLES = {
    "features": "Feature",
    "coarseners": "Coarsener",
    "placers": "Placer",
    "backends": "Backend",
}
"""Plug-in folder (and entry-point group, behind `ovplace.`) -> name of the class a plug-in module holds."""


@dataclass(frozen=True)
class Plugin:
    """A loaded plug-in.

    Attributes:
        role: its folder, a key of `ROLES`.
        name: its file name or entry-point name.
        module: where it lives.
    """

    role: str
    name: str
    module: ModuleType

    @property
    def summary(self) -> str:
        """What it does, one line."""
        return str(getattr(self.module, "SUMMARY", "")) or (self.module.__doc__ or "").split("\n")[0]

    @property
    def Config(self) -> Any:  # noqa: N802 - it is a class
        """Its frozen dataclass of settings."""
        return self.module.Config

    @property
    def factory(self) -> Any:
        """Its class."""
        return getattr(self.module, ROLES[self.role])

    def config(self, values: dict[str, object]) -> Any:
        """Return its settings with `values` over the defaults, checked and converted.

        A module may have `PRESETS`, settings by name: those of the one that `preset` in `values` names stand
        between the two.

        Raises:
            ConfigError: an unknown key or a value of the wrong type.
        """
        presets: Mapping[str, Mapping[str, object]] = getattr(self.module, "PRESETS", {})
        chosen = presets.get(str(values.get("preset", "")), {})
        return fill(self.Config, {**chosen, **values}, f"{self.role}.{self.name}")


def names(role: str) -> list[str]:
    """Return the names of all plug-ins of a role, sorted, importing none."""
    return sorted(_locations(role))


def load(role: str, name: str) -> Plugin:
    """Import the plug-in `name`; the dotted path of a module that holds one is a name, too.

    Raises:
        UsageError: there is none of that name.
    """
    locations = _locations(role) | _dotted(name)
    if name not in locations:
        near = difflib.get_close_matches(name, locations, n=1)
        hint = f"did you mean '{near[0]}'? " if near else ""
        raise UsageError(f"unknown {role[:-1]} '{name}'; {hint}there are: {', '.join(sorted(locations))}")
    module = importlib.import_module(locations[name])
    if not hasattr(module, ROLES[role]):
        raise UsageError(f"'{name}' is no {role[:-1]}: {locations[name]} has no class '{ROLES[role]}'")
    return Plugin(role, name, module)


def _dotted(name: str) -> dict[str, str]:
    try:
        found = "." in name and importlib.util.find_spec(name)
    except (ImportError, ValueError):
        return {}
    return {name: name} if found else {}


def _locations(role: str) -> dict[str, str]:
    folder = Path(__file__).parents[1] / role
    files = (*folder.glob("[!_]*.py"), *(path.parent for path in folder.glob("[!_]*/__init__.py")))
    found = {path.stem: f"ovplace.{role}.{path.stem}" for path in files}
    found.update({point.name: point.module for point in entry_points(group=f"ovplace.{role}")})
    return found


def fill(kind: Any, values: dict[str, object], place: str) -> Any:
    """Build the dataclass `kind` from plain values, with each key and type checked.

    Raises:
        ConfigError: naming the key's place, the value seen and what is known.
    """
    hints = get_type_hints(kind)
    known = {f.name for f in dataclasses.fields(kind)}
    for key in values:
        if key not in known:
            raise ConfigError(f"unknown key '{place}.{key}'; known: {', '.join(sorted(known)) or 'none'}")
    converted = {key: _convert(hints[key], value, f"{place}.{key}") for key, value in values.items()}
    try:
        return kind(**converted)
    except ValueError as error:
        raise ConfigError(f"bad value in '{place}': {error}") from error


def _convert(hint: Any, value: object, place: str) -> object:
    """Convert a TOML value, or the text of `--set`, to the type of a field."""
    options = get_args(hint) if isinstance(hint, UnionType) else (hint,)
    if value is None or (value == "none" and NoneType in options):
        return None
    target = next(option for option in options if option is not NoneType)
    origin = getattr(target, "__origin__", target)
    try:
        if origin is bool:
            return _boolean(value)
        if origin is tuple:
            items = value.split(",") if isinstance(value, str) else value
            return tuple(_convert(get_args(target)[0], item, place) for item in items)  # type: ignore[attr-defined]
        if origin in (int, float, str) and not isinstance(value, bool | list | dict):
            if origin is int and isinstance(value, float) and value != int(value):
                raise ValueError
            return origin(value)
        if isinstance(value, origin) and not isinstance(value, bool):
            return value
    except (TypeError, ValueError, OverflowError):
        pass
    raise ConfigError(f"'{place}' must be {getattr(target, '__name__', target)}, got '{value}'")


def _boolean(value: object) -> bool:
    table = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
    if str(value).lower() not in table:
        raise ValueError
    return table[str(value).lower()]
