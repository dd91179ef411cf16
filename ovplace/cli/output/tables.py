"""Plain tables: the same text on a terminal and in a file, of any width."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

import click

MAX_CELL = 100
"""Characters of a cell; a longer text is cut, with an ellipsis."""


def show_table(header: Sequence[str], rows: Iterable[Sequence[str]], right: Iterable[int] = ()) -> None:
    """Print a table on standard output.

    rich would wrap it at the width of the terminal, and at 80 characters in a file.

    Args:
        header: names of the columns.
        rows: cells; line breaks in them become spaces.
        right: indices of the columns that are aligned to the right.
    """
    lines = [list(header), *([_cell(text) for text in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    lines.insert(1, ["-" * width for width in widths])
    right = set(right)
    for line in lines:
        cells = [c.rjust(w) if i in right else c.ljust(w) for i, (c, w) in enumerate(zip(line, widths, strict=True))]
        click.echo("  ".join(cells).rstrip())


def _cell(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= MAX_CELL else f"{line[: MAX_CELL - 1]}…"


def show_pairs(pairs: Iterable[tuple[str, str]]) -> None:
    """Print names and values below each other; pairs without a value are left out."""
    filled = [(name, value) for name, value in pairs if value]
    width = max((len(name) for name, _ in filled), default=0)
    for name, value in filled:
        click.echo(f"{name.ljust(width)}  {value}")


def show_json(data: object) -> None:
    """Print `data` as JSON."""
    click.echo(json.dumps(data, indent=2, ensure_ascii=False))


def size(n_bytes: float) -> str:
    """Return a number of bytes as text in B, KiB, MiB or GiB."""
    for unit in ("B", "KiB", "MiB"):
        if n_bytes < 1024:
            return f"{n_bytes:.0f} {unit}" if unit == "B" else f"{n_bytes:.1f} {unit}"
        n_bytes /= 1024
    return f"{n_bytes:.1f} GiB"
