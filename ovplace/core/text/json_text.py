"""Reading JSON that somebody else may have written."""

from __future__ import annotations

import json
from typing import Any


def parse_json(text: str | bytes) -> Any:
    """Return what a JSON text holds.

    Raises:
        ValueError: it is no JSON, or is nested deeper than Python's parser goes, which raises another error for that.
    """
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
