"""Plain tables: the same text on a terminal and in a file."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

import click


def show(header: Sequence[str], rows: Iterable[Sequence[str]], right: Iterable[int] = ()) -> None:
    """Print a table.

    Args:
        header: names of the columns.
        rows: cells.
        right: columns that are aligned to the right.
    """
    lines = [list(header), *(list(row) for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    lines.insert(1, ["-" * width for width in widths])
    right = set(right)
    for line in lines:
        cells = [c.rjust(w) if i in right else c.ljust(w) for i, (c, w) in enumerate(zip(line, widths, strict=True))]
        click.echo("  ".join(cells).rstrip())


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
    """Return a number of bytes as people read it."""
    for unit in ("B", "KiB", "MiB"):
        if n_bytes < 1024:
            return f"{n_bytes:.0f} {unit}" if unit == "B" else f"{n_bytes:.1f} {unit}"
        n_bytes /= 1024
    return f"{n_bytes:.1f} GiB"
