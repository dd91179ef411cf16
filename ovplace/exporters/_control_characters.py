"""Control characters in the names of operations, written out."""

from __future__ import annotations

import re

_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
"""Characters that no XML file can hold, not even as references (https://www.w3.org/TR/xml/#charsets)."""


def written_out(text: str) -> str:
    """Return a text in which control characters are written as Python writes them; tabs and line breaks stay."""
    return _CONTROL.sub(lambda found: ascii(found[0])[1:-1], text)
