"""The cache of profiles: one JSON file each in the user's cache folder, shared by all runs.

A cache that cannot be read or written is no cache: nothing here raises.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ovplace.store.atomic import atomic_write

VARIABLE = "OVPLACE_CACHE"
"""Environment variable that names another folder."""


def cache_folder() -> Path:
    """Return the folder: `$OVPLACE_CACHE`, else `ovplace` in `$XDG_CACHE_HOME`, else `~/.cache/ovplace`."""
    if chosen := os.environ.get(VARIABLE):
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path("~/.cache").expanduser()) / "ovplace"


def find_profile(key: str) -> Mapping[str, Any] | None:
    """Return the profile that `keep_profile` stored under `key`; None if there is none that can be read."""
    try:
        data = json.loads(_path(key).read_text(encoding="utf-8"))
    except (OSError, ValueError, RuntimeError):  # RuntimeError: there is no home folder
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
    except (OSError, RuntimeError):
        return False
    return True


def _path(key: str) -> Path:
    return cache_folder() / "profiles" / f"{key}.json"
