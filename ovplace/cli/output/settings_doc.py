"""Settings with their defaults and meaning, from the dataclasses that define them."""

from __future__ import annotations

import dataclasses
import inspect
import re
from dataclasses import dataclass
from typing import Any

_ATTRIBUTE = re.compile(r"^    (\w+): ", re.MULTILINE)


@dataclass(frozen=True)
class Setting:
    """One field of a settings dataclass.

    Attributes:
        name: its key.
        default: its value where the user says nothing.
        doc: what it means.
    """

    name: str
    default: Any
    doc: str

    def to_data(self) -> dict[str, Any]:
        """Return plain data."""
        return dataclasses.asdict(self)


def documented_settings(kind: Any) -> list[Setting]:
    """Return the settings of a dataclass, explained by the Attributes sections of its docstring and its bases'."""
    docs: dict[str, str] = {}
    for base in reversed(kind.__mro__):
        docs |= _docs(base)
    defaults = kind()
    return [Setting(f.name, getattr(defaults, f.name), docs.get(f.name, "")) for f in dataclasses.fields(kind)]


def _docs(kind: Any) -> dict[str, str]:
    _, _, section = (inspect.getdoc(kind) or "").partition("Attributes:\n")
    parts = _ATTRIBUTE.split(section)[1:]
    return {name: " ".join(text.split()) for name, text in zip(parts[::2], parts[1::2], strict=True)}
