"""Tables as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def pipe_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table; line breaks and bars inside cells are escaped.

    Args:
        header: names of the columns.
        rows: one sequence of cells for each line, as long as the header.
    """
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(map(_cell, line)) + " |" for line in lines)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", r"\|")
