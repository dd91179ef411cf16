"""Variants: named changes of a base, and all combinations of several settings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

from ovplace.config.toml import Tables, merge, value_text
from ovplace.errors import ConfigError

FULL = "full"
"""Name of the variant that changes nothing, where the file gives no other."""

GIVEN = ("search.model", "search.seed", "backend.machine")
"""Settings that `[ablation]` gives, and no variant may."""

_PLUGINS = ("placer", "coarsener", "backend")


@dataclass(frozen=True)
class Variant:
    """A variant.

    Attributes:
        name: name in tables.
        settings: changes of the base, as sections of a run's configuration.
    """

    name: str
    settings: Tables


def variants(
    named: Mapping[str, Any], grid: Mapping[str, Any], base: str = FULL
) -> tuple[list[Variant], list[Variant]]:
    """Return the named variants, the base itself first, and those of the grid.

    Args:
        named: `[variants]`, name -> section -> key -> value.
        grid: `[grid]`, section -> key -> list of values.
        base: name of the variant that changes nothing.

    Raises:
        ConfigError: a table is not of that form; the text names the place.
    """
    if base in named:
        raise ConfigError(f"'variants.{base}' is the base itself; give the variant another name")
    found = [Variant(name, checked_settings(table, f"variants.{name}")) for name, table in named.items()]
    empty = next((variant.name for variant in found if not variant.settings), None)
    if empty is not None:
        raise ConfigError(f"'variants.{empty}' sets nothing; write section.key = value, such as search.budget = 20")
    return [Variant(base, {}), *found], list(_combinations(checked_settings(grid, "grid")))


def checked_settings(table: object, place: str) -> Tables:
    """Return a table of `section.key = value`, checked.

    Args:
        table: what the file holds.
        place: its place in the file, for error texts.

    Raises:
        ConfigError: it is something else, or has a setting of `[ablation]`.
    """
    if not isinstance(table, Mapping):
        raise ConfigError(f"'{place}' must be a table of section.key = value, got '{table}'")
    for section, keys in table.items():
        if not isinstance(keys, Mapping):
            raise ConfigError(f"'{place}.{section}' must be section.key = value, such as search.budget = 20")
        for key in keys:
            if f"{section}.{key}" in GIVEN:
                raise ConfigError(f"'{place}.{section}.{key}' is set by [ablation]: models, machines and seeds")
    return {section: dict(keys) for section, keys in table.items() if keys}


def over(base: Tables, changed: Tables) -> Tables:
    """Return `changed` put over `base`.

    Args:
        base: sections of a run's configuration.
        changed: sections put over them; where they name another plug-in, the settings of the base's are left out.
    """
    old, new = base.get("search", {}), changed.get("search", {})
    others = [role for role in _PLUGINS if role in new and new[role] != old.get(role)]
    return merge({section: keys for section, keys in base.items() if section not in others}, changed)


def _combinations(grid: Tables) -> Iterator[Variant]:
    axes = [(section, key, values) for section, keys in grid.items() for key, values in keys.items()]
    for section, key, values in axes:
        if not isinstance(values, list) or not values:
            raise ConfigError(f"'grid.{section}.{key}' must be a list of values to try, got '{values}'")
    shared = Counter(key for _, key, _ in axes)
    lists: list[list[Any]] = [values for _, _, values in axes if isinstance(values, list)]
    for choice in product(*lists) if axes else ():
        changed: Tables = {}
        named = []
        for (section, key, _), value in zip(axes, choice, strict=True):
            changed.setdefault(section, {})[key] = value
            named.append(f"{key if shared[key] == 1 else f'{section}.{key}'}={_value_name(value)}")
        yield Variant(" ".join(named), changed)


def _value_name(value: object) -> str:
    if isinstance(value, list):
        return "+".join(map(_value_name, value))
    return value if isinstance(value, str) else value_text(value)
