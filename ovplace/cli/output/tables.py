"""Plain tables: as wide as they are in a file, and as wide as the terminal on one."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from math import isfinite

import click

from ovplace.cli.output.terminal import columns, fitted

MAX_CELL = 100
"""Characters of a cell; a longer text is cut, with an ellipsis."""


def show_table(
    header: Sequence[str],
    rows: Iterable[Sequence[str]],
    right: Iterable[int] = (),
    marked: int | None = None,
) -> None:
    """Print a table on standard output.

    On a terminal that is too narrow, names and remarks are broken between words; numbers stay whole.

    Args:
        header: names of the columns.
        rows: cells; line breaks in them become spaces.
        right: indices of the columns that are aligned to the right.
        marked: number of the row that is coloured where the terminal has colours.
    """
    from rich.console import Console
    from rich.rule import Rule
    from rich.table import Table
    from rich.text import Text

    cells, aligned = [[_cell(text) for text in row] for row in rows], set(right)
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0), collapse_padding=True)
    for index, column in enumerate(zip(header, *cells, strict=True)):
        least = _least_width(column, whole=index in aligned)
        table.add_column(justify="right" if index in aligned else "left", min_width=least)
    table.add_row(*map(Text, header))  # not markup: cells hold intervals in brackets
    table.add_row(*[Rule(characters="-", style="none")] * len(header))
    for number, row in enumerate(cells):
        table.add_row(*map(Text, row), style="bold green" if number == marked else None)
    console = Console(width=_ANY_WIDTH)
    with console.capture() as captured:
        console.print(table, width=columns())
    for line in captured.get().splitlines():
        click.echo(line.rstrip(), color=console.color_system is not None)


_ANY_WIDTH = 10_000


def _least_width(column: Sequence[str], *, whole: bool) -> int:
    """Return the columns of the longest word of a table's column, or of its longest cell below the header."""
    from rich.cells import cell_len

    kept = [*column[0].split(), *(column[1:] if whole else " ".join(column[1:]).split())]
    return max(map(cell_len, kept), default=0)


def _cell(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= MAX_CELL else f"{line[: MAX_CELL - 1]}…"


def show_pairs(pairs: Iterable[tuple[str, str]]) -> None:
    """Print names and values below each other; pairs without a value are left out."""
    filled = [(name, value) for name, value in pairs if value]
    width = max((len(name) for name, _ in filled), default=0)
    for name, value in filled:
        click.echo(f"{name.ljust(width)}  {fitted(value, indent=width + 2)}")


def show_json(data: object) -> None:
    """Print `data` as JSON, which has neither infinite numbers nor NaN: they become null."""
    click.echo(json.dumps(_finite(data), indent=2, ensure_ascii=False, allow_nan=False))


def _finite(data: object) -> object:
    if isinstance(data, float):
        return data if isfinite(data) else None
    if isinstance(data, Mapping):
        return {key: _finite(value) for key, value in data.items()}
    return [_finite(item) for item in data] if isinstance(data, list | tuple) else data
