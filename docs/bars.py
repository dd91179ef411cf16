"""Draw a table of latency ratios as bars: `python docs/bars.py benchmarks/results/demo.json docs/_static/demo.svg`."""

from __future__ import annotations

import json
import sys
from html import escape
from pathlib import Path
from typing import Any

WIDTH, LABELS, ROW, BAR = 760, 300, 34, 20
STYLE = (
    "text { font: 14px system-ui, sans-serif; fill: #333 } .bar { fill: #8a94a6 } .best { fill: #1a7f5a } "
    "@media (prefers-color-scheme: dark) { text { fill: #ddd } }"
)


def drawn(data: dict[str, Any]) -> str:
    """Return the SVG of a table whose first column is a name and whose fourth is a ratio; the last line is the best.

    Args:
        data: the content of a file in benchmarks/results.
    """
    rows = [(row[0], float(row[3])) for row in data["rows"]]
    scale = (WIDTH - LABELS - 90) / max(ratio for _, ratio in rows)
    height = ROW * len(rows) + 36
    bars = "\n".join(
        _bar(number, name, ratio, scale, number == len(rows) - 1) for number, (name, ratio) in enumerate(rows)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img">\n'
        f"<title>{escape(data['title'])}</title>\n<style>{STYLE}</style>\n{bars}\n"
        f'<text x="0" y="{height - 8}">{escape(data["title"])}: latency over that of the CPU</text>\n</svg>\n'
    )


def _bar(number: int, name: str, ratio: float, scale: float, best: bool) -> str:
    top, width = number * ROW, ratio * scale
    return (
        f'<text x="{LABELS - 10}" y="{top + 21}" text-anchor="end">{escape(name)}</text>'
        f'<rect class="{"best" if best else "bar"}" x="{LABELS}" y="{top + 6}" width="{width:.1f}" height="{BAR}"/>'
        f'<text x="{LABELS + width + 8:.1f}" y="{top + 21}">{ratio:.2f}</text>'
    )


if __name__ == "__main__":
    source, target = map(Path, sys.argv[1:])
    target.write_text(drawn(json.loads(source.read_text(encoding="utf-8"))), encoding="utf-8")
