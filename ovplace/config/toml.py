"""Run configurations as TOML tables."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, fields, is_dataclass
from datetime import date, time
from pathlib import Path
from typing import Any, get_type_hints

import tomli_w

from ovplace.config.schema import RunConfig
from ovplace.core.build_dataclass import build_dataclass
from ovplace.errors import ConfigError, UsageError

Tables = dict[str, dict[str, object]]

FORMAT = 1
"""Version of stored configurations; those of earlier versions of ovplace have none, and are read."""

_ABOUT = "ovplace"

RENAMED = {"duel": "comparison", "costs": "profiling"}
"""Sections of earlier versions: refused in what a user writes, understood in a stored run."""

_DOT = re.compile(r"""\.(?=(?:[^"']|"[^"]*"|'[^']*')*$)""")
"""A dot between keys: what follows it has whole quotes only."""

_QUOTED = re.compile(r"""^(["'])(.+)\1$""")


def sections() -> dict[str, Any]:
    """Return the sections of a run's configuration: the dataclass of each, or None for a table that a plug-in types."""
    hints = get_type_hints(RunConfig)
    return {f.name: hints[f.name] if is_dataclass(hints[f.name]) else None for f in fields(RunConfig)}


def read(path: Path) -> Tables:
    """Return the tables of a TOML file.

    Raises:
        ConfigError: the file is missing or not TOML; the text names the line.
    """
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8-sig"))  # editors of Windows begin with a mark
    except OSError as error:
        raise ConfigError(f"cannot read the configuration '{path}': {error.strerror}") from error
    except ValueError as error:  # syntax, characters, or numbers of thousands of digits
        raise ConfigError(f"'{path}' is not TOML: {error}") from error
    except RecursionError:
        raise ConfigError(f"'{path}' is not TOML that can be read: it is nested too deeply") from None
    for name, table in tables.items():
        if not isinstance(table, dict):
            raise ConfigError(f"'{name}' in '{path}' must stand in a section, such as [search]")
    return tables


def check_sections(tables: Iterable[str], known: Collection[str], file: Path) -> None:
    """Check that a file has known sections only.

    Args:
        tables: its sections.
        known: those that it may have.
        file: the file, for the error text.

    Raises:
        ConfigError: it has another one.
    """
    for section in tables:
        if section not in known:
            raise ConfigError(f"unknown section '{section}' in '{file}'; known: {', '.join(known)}")


def assignments(texts: Iterable[str]) -> Tables:
    """Return the tables that `--set section.key=value` texts describe; a key with dots is quoted, as in TOML.

    Raises:
        ConfigError: a text has another form, or sets a part of what an earlier one has given a value.
    """
    tables: Tables = {}
    for text in texts:
        path, equals, value = text.partition("=")
        section, *keys = (_QUOTED.sub(r"\2", key) for key in _DOT.split(path.strip()))
        if not (equals and keys and all(keys)):
            raise ConfigError(f"--set takes section.key=value, such as search.budget=20; got '{text}'")
        table: dict[str, Any] = tables.setdefault(section, {})
        for key in keys[:-1]:
            inner: Any = table.setdefault(key, {})
            if not isinstance(inner, dict):
                raise ConfigError(
                    f"--set {text} contradicts an earlier --set, by which '{key}' is '{inner}'; leave one of them out"
                )
            table = inner
        table[keys[-1]] = value.strip()
    return tables


def merge(*layers: Mapping[str, Mapping[str, object]]) -> Tables:
    """Return the layers put over each other, later ones winning key by key."""
    merged: Tables = {}
    for layer in layers:
        for section, table in layer.items():
            merged[section] = _over(merged.get(section, {}), table)
    return merged


def _over(below: Mapping[str, object], above: Mapping[str, object]) -> dict[str, object]:
    found = dict(below)
    for key, value in above.items():
        old = found.get(key)
        found[key] = _over(old, value) if isinstance(old, Mapping) and isinstance(value, Mapping) else value
    return found


def build_config(tables: Mapping[str, Mapping[str, object]]) -> RunConfig:
    """Return the run that the tables describe.

    Raises:
        ConfigError: an unknown section or key, or a bad value, with its place.
    """
    known, tables = sections(), _of_this_format(tables)
    for section in tables:
        if section in RENAMED:
            raise ConfigError(f"the section '{section}' is called '{RENAMED[section]}' now; rename it")
        if section not in known:
            raise ConfigError(f"unknown section '{section}'; known: {', '.join(known)}")
    given = {section: dict(tables.get(section, {})) for section in known}
    parts: dict[str, Any] = {s: build_dataclass(kind, given[s], s) if kind else given[s] for s, kind in known.items()}
    return RunConfig(**parts)


def _of_this_format(tables: Mapping[str, Mapping[str, object]]) -> Mapping[str, Mapping[str, object]]:
    """Return the tables without the one that `stored` adds."""
    found = tables.get(_ABOUT, {}).get("format", FORMAT)
    if found != FORMAT:
        raise ConfigError(
            f"the configuration is of format {found}, this ovplace reads {FORMAT}; start anew in another folder with -o"
        )
    return {section: table for section, table in tables.items() if section != _ABOUT}


def read_stored(path: Path) -> RunConfig:
    """Return the configuration of a run folder, which an earlier version may have written.

    Raises:
        ConfigError: the file is missing, damaged or not understood.
    """
    try:
        tables = read(path)
    except ConfigError as error:
        raise ConfigError(f"{error}; mend the file, or search again in another folder") from error
    if not tables:  # of a run they are never, and would be those of another one
        raise ConfigError(f"'{path}' is empty; mend the file, or search again in another folder")
    with naming(path):
        return build_config({RENAMED.get(section, section): table for section, table in tables.items()})


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Name the configuration of a run folder in errors of what stands in it, which nobody has typed now.

    Another version may have written it, or with plug-ins that are not installed here.

    Raises:
        ConfigError: with the file.
    """
    try:
        yield
    except UsageError as error:
        raise ConfigError(f"'{path}' is not understood by this ovplace: {error}") from error


def stored(config: RunConfig) -> str:
    """Return the TOML text for a run folder: `dumps` with its format."""
    return tomli_w.dumps({_ABOUT: {"format": FORMAT}}) + "\n" + dumps(config)


def dumps(config: RunConfig) -> str:
    """Return the TOML text that `build_config` turns back into `config`; keys without a value are left out."""
    return tomli_w.dumps({name: _without_none(table) for name, table in asdict(config).items() if table})


def _without_none(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _without_none(item) for key, item in value.items() if item is not None}
    return [_without_none(item) for item in value] if isinstance(value, list | tuple) else value


def key_text(key: str) -> str:
    """Return a key as TOML, in quotes where it has a dot or the like."""
    return key if key.isidentifier() and key.isascii() else value_text(key)


def value_text(value: object) -> str:
    """Return a value as TOML on one line, which no library at hand writes."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key_text(k)} = {value_text(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(value_text(item) for item in value) + "]"
    if isinstance(value, float):
        return repr(value)  # inf and nan are TOML, but not JSON
    if isinstance(value, date | time):  # a datetime is a date
        return value.isoformat()
    # JSON's escapes are TOML's, which wants one more character escaped.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
