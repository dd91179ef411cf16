"""Names that users give, as names of folders."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ovplace.errors import ConfigError

_NOT_PORTABLE = re.compile(r"[^A-Za-z0-9._=+-]+")


def folder_name(label: str) -> str:
    """Return `label` as a name that every file system accepts; empty if nothing of it can be kept."""
    return _NOT_PORTABLE.sub("-", label).strip("-.")


def check_distinct(kind: str, labels: Iterable[str], reserved: Iterable[str] = ()) -> None:
    """Check that each label has a folder of its own, also on file systems that ignore case.

    Args:
        kind: what the labels name, for the error text.
        labels: names that users give.
        reserved: folder names that are taken already.

    Raises:
        ConfigError: two share one, or a label gives none.
    """
    taken = {name: f"the folder '{name}'" for name in reserved}
    for label in labels:
        name = folder_name(label).lower()
        if not name:
            raise ConfigError(f"{kind} '{label}' gives no folder name; use letters and digits")
        if name in taken:
            raise ConfigError(f"{kind} '{label}' cannot be told from {taken[name]}; name each differently")
        taken[name] = f"{kind} '{label}'"
