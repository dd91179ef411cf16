"""The file that `--placement` names."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


def read_placement(path: Path) -> Mapping[str, str]:
    """Return the table in a placement file: device name of each operation, by the operation's name.

    Raises:
        PlacementError: it cannot be read, or holds something else.
    """
    from ovplace.core.text.placement_table import parse_table
    from ovplace.errors import PlacementError

    try:
        return parse_table(path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError) as error:
        raise PlacementError(
            f"cannot read the placement '{path}': {error}; correct it, or give the placement.json of a run"
        ) from error
