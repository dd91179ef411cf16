"""Reading JSON that somebody else may have written."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any


def parse_json(text: str | bytes, as_object: Callable[[list[tuple[str, Any]]], Any] | None = None) -> Any:
    """Return what a JSON text holds.

    Args:
        text: the text.
        as_object: makes an object of its names and values in order; a dict by default, with the last value of a name.

    Raises:
        ValueError: it is no JSON, or is nested deeper than Python's parser goes, which raises another error for that.
    """
    try:
        return json.loads(text, object_pairs_hook=as_object)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
