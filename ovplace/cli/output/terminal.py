"""How wide the terminal is, and text that fits into it without broken words."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
from typing import TextIO

import click


def columns(stream: TextIO | None = None) -> int | None:
    """Return the columns for a stream, standard output by default; None where nobody looks at a terminal.

    `COLUMNS` in the environment says them where there is no terminal, too. What scripts read must not wrap.
    """
    if (stream or sys.stdout).isatty() or os.environ.get("COLUMNS", "").isdigit():
        return shutil.get_terminal_size().columns
    return None


def say(text: str, indent: int = 0) -> None:
    """Print a paragraph on standard output, broken between words where a terminal is narrow.

    Args:
        text: the paragraph.
        indent: columns by which further lines are indented.
    """
    first, rest = text[:indent], text[indent:]
    click.echo(first + fitted(rest, indent=indent))


def fitted(text: str, stream: TextIO | None = None, indent: int = 0) -> str:
    """Return a text in lines that fit, broken between words.

    Args:
        text: one paragraph.
        stream: where it is written, standard output by default.
        indent: columns that stand before the first line; further lines are indented by as many.
    """
    width = columns(stream)
    if width is None or indent + len(text) <= width:
        return text
    margin = " " * indent
    wide = max(width, indent + 20)
    lines = textwrap.wrap(margin + text, wide, subsequent_indent=margin, break_long_words=False, break_on_hyphens=False)
    return "\n".join(lines)[indent:]
