"""Run configurations as TOML: defaults < file < `--set a.b=1` < option."""

from __future__ import annotations

import dataclasses
import json
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ovplace.config.schema import CostsConfig, DuelConfig, RunConfig, SearchConfig
from ovplace.core.measurement import MeasureSpec
from ovplace.errors import ConfigError
from ovplace.plugins.registry import fill

_TYPED = {"search": SearchConfig, "measure": MeasureSpec, "duel": DuelConfig, "costs": CostsConfig}
_FREE = ("placer", "coarsener", "backend", "devices")

Tables = dict[str, dict[str, object]]


def read(path: Path) -> Tables:
    """Return the tables of a TOML file.

    Raises:
        ConfigError: the file is missing or not TOML; the text names the line.
    """
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"cannot read the configuration '{path}': {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"'{path}' is not TOML: {error}") from error
    for name, table in tables.items():
        if not isinstance(table, dict):
            raise ConfigError(f"'{name}' in '{path}' must stand in a section, such as [search]")
    return tables


def assignments(texts: Iterable[str]) -> Tables:
    """Return the tables that `--set section.key=value` texts describe."""
    tables: Tables = {}
    for text in texts:
        path, equals, value = text.partition("=")
        section, dot, key = path.strip().partition(".")
        if not (equals and dot and key):
            raise ConfigError(f"--set takes section.key=value, such as search.budget=20; got '{text}'")
        tables.setdefault(section, {})[key] = value.strip()
    return tables


def merge(*layers: Mapping[str, Mapping[str, object]]) -> Tables:
    """Return the layers put over each other, later ones winning key by key."""
    merged: Tables = {}
    for layer in layers:
        for section, table in layer.items():
            merged.setdefault(section, {}).update(table)
    return merged


def build(tables: Mapping[str, Mapping[str, object]]) -> RunConfig:
    """Return the run that the tables describe.

    Raises:
        ConfigError: an unknown section or key, or a bad value, with its place.
    """
    known = (*_TYPED, *_FREE)
    for section in tables:
        if section not in known:
            raise ConfigError(f"unknown section '{section}'; known: {', '.join(known)}")
    parts: dict[str, Any] = {s: fill(kind, dict(tables.get(s, {})), s) for s, kind in _TYPED.items()}
    parts.update({s: dict(tables.get(s, {})) for s in _FREE})
    return RunConfig(**parts)


def effective(file: str | Path | None, settings: Iterable[str], given: Mapping[str, object]) -> RunConfig:
    """Return the run that a file, `--set` texts and options describe, later ones winning.

    Args:
        file: a TOML file.
        settings: `section.key=value` texts.
        given: options, fields of `SearchConfig`.

    Raises:
        ConfigError: one of them is not understood.
    """
    return build(merge(read(Path(file)) if file else {}, assignments(settings), {"search": given}))


def dumps(config: RunConfig) -> str:
    """Return the TOML text that `build` turns back into `config`; keys without a value are left out."""
    return "\n".join(_section(name, table) for name, table in dataclasses.asdict(config).items() if table)


def _section(name: str, table: Mapping[str, object]) -> str:
    lines = [f"{_key(key)} = {value_text(value)}" for key, value in table.items() if value is not None]
    return "\n".join([f"[{name}]", *lines, ""])


def _key(key: str) -> str:
    return key if key.isidentifier() and key.isascii() else value_text(key)


def value_text(value: object) -> str:
    """Return a value as TOML."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_key(k)} = {value_text(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(value_text(item) for item in value) + "]"
    if isinstance(value, float):
        return repr(value)  # inf and nan are TOML, but not JSON
    # JSON's escapes are TOML's, which wants one more character escaped.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
