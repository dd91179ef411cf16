"""Docstrings written plainly: single backticks are code, and modules may hold indented blocks and tables."""

from __future__ import annotations

import re
from typing import Any

from sphinx.application import Sphinx
from sphinx.util import logging

_LOG = logging.getLogger(__name__)
_CODE = re.compile(r"(?<!`)`([^`]+)`(?!`)(?=(\w)?)")


def plainly(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Turn the lines of a docstring into reStructuredText, in place."""
    if what == "property" and ": " in _CODE.sub("", lines[0]):
        _LOG.warning("what stands before the colon would be shown as its type: %s", lines[0], location=name)
    if what == "module":
        lines[:] = _with_tables(_with_literal_blocks(lines))
    else:
        lines[:] = _CODE.sub(lambda m: f"``{m[1]}``" + (r"\ " if m[2] else ""), "\n".join(lines)).split("\n")


def _with_literal_blocks(lines: list[str]) -> list[str]:
    text, inside = [], False
    for line in lines:
        if line.startswith("    ") and not inside:
            text += ["::", ""]
        inside = line.startswith("    ") or (inside and not line)
        text.append(line)
    return text


def _with_tables(lines: list[str]) -> list[str]:
    text: list[str] = []
    for line in lines:
        cells = [cell.strip() for cell in line.strip("| ").split(" | ")] if line.startswith("|") else []
        if cells and not set("".join(cells)) <= set("-"):
            if not text or not text[-1].startswith("     "):
                text += [".. list-table::", "   :header-rows: 1", ""]
            text += [f"   {'*' if number == 0 else ' '} - {cell}" for number, cell in enumerate(cells)]
        elif not cells:
            text.append(line)
    return text


def setup(app: Sphinx) -> dict[str, bool]:
    """Run before napoleon, which reads the sections."""
    app.connect("autodoc-process-docstring", plainly, priority=100)
    return {"parallel_read_safe": True}
