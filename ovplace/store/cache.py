"""The user's cache folder, shared by all runs.

It holds profiles, one JSON file each, compiled models and kernels (`blobs.py`), and models of a fleet by their hashes.
A cache that cannot be read or written is no cache: nothing here raises but `cache_folder`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ovplace.atomic import atomic_write
from ovplace.config.files import user_folder
from ovplace.core.text.json_text import parse_json
from ovplace.errors import StoreError

VARIABLE = "OVPLACE_CACHE"
"""Environment variable that names another folder."""


def cache_folder() -> Path:
    """Return the folder: `$OVPLACE_CACHE`, else `ovplace` in `$XDG_CACHE_HOME`, else `~/.cache/ovplace`.

    Raises:
        StoreError: there is no home folder.
    """
    return user_folder(VARIABLE, "XDG_CACHE_HOME", "~/.cache")


@dataclass(frozen=True)
class CacheContent:
    """The files of one kind in the cache.

    Attributes:
        kind: `profiles`, `blobs` (kernels included), or `models` that other machines sent.
        files: how many there are.
        n_bytes: their size together.
    """

    kind: str
    files: int
    n_bytes: int


KINDS = ("profiles", "blobs", "models")


def cache_content() -> list[CacheContent]:
    """Return what the cache holds, one entry a kind."""
    return [
        CacheContent(kind, len(files), sum(_size(path) for path in files)) for kind in KINDS for files in [_files(kind)]
    ]


def empty_cache() -> list[CacheContent]:
    """Delete all files that can be deleted, and return what is gone, one entry a kind."""
    return [_emptied(kind) for kind in KINDS]


def _emptied(kind: str) -> CacheContent:
    sizes = []
    for path in _files(kind):
        size = _size(path)
        with suppress(OSError):
            path.unlink(missing_ok=True)
            sizes.append(size)
    return CacheContent(kind, len(sizes), sum(sizes))


def _files(kind: str) -> list[Path]:
    try:
        return sorted(path for path in (cache_folder() / kind).iterdir() if path.is_file())
    except (OSError, StoreError):
        return []


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def find_profile(key: str) -> Mapping[str, Any] | None:
    """Return the profile that `keep_profile` stored under `key`; None if there is none that can be read."""
    try:
        data = parse_json(_path(key).read_text(encoding="utf-8"))
    except (OSError, ValueError, StoreError):  # StoreError: there is no home folder
        return None
    return data if isinstance(data, dict) else None


def keep_profile(key: str, data: Mapping[str, object]) -> bool:
    """Store a profile.

    Args:
        key: what the profile depends on, hashed.
        data: what JSON can hold.

    Returns:
        Whether it could be written.
    """
    try:
        path = _path(key)
        path.parent.mkdir(parents=True, exist_ok=True)
        atomic_write(path, json.dumps(data))
    except (OSError, StoreError):
        return False
    return True


def _path(key: str) -> Path:
    return cache_folder() / "profiles" / f"{key}.json"
