"""Plain tables: the same text on a terminal and in a file, of any width."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

import click

MAX_CELL = 100
"""Characters of a cell; a longer text is cut, with an ellipsis."""


def show_table(header: Sequence[str], rows: Iterable[Sequence[str]], right: Iterable[int] = ()) -> None:
    """Print a table on standard output.

    Args:
        header: names of the columns.
        rows: cells; line breaks in them become spaces.
        right: indices of the columns that are aligned to the right.
    """
    from rich.cells import cell_len
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    cells, aligned = [[_cell(text) for text in row] for row in rows], set(right)
    widths = [max(map(cell_len, column)) for column in zip(header, *cells, strict=True)]
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0), collapse_padding=True)
    for index in range(len(header)):
        table.add_column(justify="right" if index in aligned else "left", no_wrap=True)
    for row in ([*header], ["-" * width for width in widths], *cells):
        table.add_row(*map(Text, row))  # not markup: cells hold intervals in brackets
    # As wide as it is, whatever the terminal: what is read by scripts must not wrap.
    console = Console(width=sum(widths) + 2 * len(widths), color_system=None)
    with console.capture() as captured:
        console.print(table)
    for line in captured.get().splitlines():
        click.echo(line.rstrip())


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
