"""A placement as the JSON text that users write and other programs read."""

from __future__ import annotations

from collections.abc import Iterable

from ovplace.core.text.json_text import parse_json


def parse_table(text: str) -> dict[str, str]:
    """Return the device name of each operation, by the operation's name.

    Args:
        text: one flat JSON object.

    Raises:
        ValueError: it is something else, or names an operation twice.
    """
    table = parse_json(text, _unique)
    if not isinstance(table, dict) or not all(isinstance(device, str) for device in table.values()):
        raise ValueError("it is not a flat JSON object that maps operation names to device names")
    return table


def _unique(pairs: Iterable[tuple[str, object]]) -> dict[str, object]:
    """Return an object's contents: of a name that is there twice, Python would take the last without a word."""
    found: dict[str, object] = {}
    for name, value in pairs:
        if name in found:
            raise ValueError(f"it names '{name}' twice")
        found[name] = value
    return found
