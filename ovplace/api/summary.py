"""A run in one line, and as the small table that notebooks show."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from ovplace.core.result.labels import label, number, percent
from ovplace.core.result.rows import ResultRow, rows_of
from ovplace.core.result.run_result import RunResult
from ovplace.core.verdict import Status

_HEADER = ("placement", "latency", "ratio", "")


def headline(result: RunResult) -> str:
    """Return the verdict in a few words."""
    ratio, against = result.verdict.ratio, label(result, result.verdict.against)
    if result.verdict.status == Status.FASTER and ratio:
        return f"the placement found takes {percent(1 - ratio.value)} less time than {against}"
    return f"{label(result, result.best.origin)} is the answer"


def html(result: RunResult) -> str:
    """Return the verdict, the baselines and the best placement found as an HTML table."""
    rows = [_line(_HEADER, "th"), *(_line(_cells(result, row), "td") for row in rows_of(result))]
    return f"<p>{escape(headline(result))}</p><table>{''.join(rows)}</table><p>{escape(str(result.folder))}</p>"


def _cells(result: RunResult, row: ResultRow) -> tuple[str, ...]:
    name = label(result, row.name) if row.baseline else f"found by {row.name}"
    latency = f"{number(row.latency_ms.value)} ms" if row.latency_ms else "-"
    return name, latency, number(row.ratio), "the answer" if row.is_answer else ""


def _line(cells: Iterable[str], tag: str) -> str:
    return "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells) + "</tr>"
