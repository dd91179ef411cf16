"""The file that `--placement` names."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


def read_placement(path: Path) -> Mapping[str, str]:
    """Return the table in a placement file: device name of each operation, by the operation's name.

    Raises:
        PlacementError: it cannot be read, or holds something else.
    """
    from ovplace.core.text.json_text import parse_json
    from ovplace.errors import PlacementError

    try:
        table = parse_json(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise PlacementError(f"cannot read the placement '{path}': {error}") from error
    if not isinstance(table, dict) or not all(isinstance(device, str) for device in table.values()):
        raise PlacementError(f"'{path}' must be one flat JSON object, operation name to device name")
    return table
