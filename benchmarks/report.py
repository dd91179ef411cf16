"""Results: tables with the command, revision and machine that made them, as JSON and as text."""

from __future__ import annotations

import json
import os
import platform
import re
import shlex
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ovplace.core.statistics import Interval
from ovplace.core.text.markdown_table import pipe_table

Row = Mapping[str, object]


@dataclass(frozen=True)
class ResultTable:
    """A table of results, in the format of `benchmarks/results/`.

    Attributes:
        name: name of its file.
        title: one line.
        columns: heads of the columns.
        rows: texts of the cells.
        note: what the reader must know.
        machine: where it was measured or what was simulated; empty for this machine.
    """

    name: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""
    machine: str = ""

    def to_json(self) -> dict[str, object]:
        """Return it with the command, the revision and the machine of this process."""
        return {
            "title": self.title,
            "command": command(),
            "revision": revision(),
            "machine": self.machine or this_machine(),
            "columns": self.columns,
            "rows": self.rows,
            "note": self.note,
        }

    def text(self) -> str:
        """Return it as Markdown."""
        table = pipe_table(self.columns, self.rows)
        return "\n".join([f"## {self.title}", "", table, *(["", self.note] if self.note else [])])


def from_rows(name: str, title: str, rows: Iterable[Row], note: str = "") -> ResultTable:
    """Return the table of rows of named values.

    Args:
        name: name of the file.
        title: one line.
        rows: values by column; the columns are in the order in which rows first name them.
        note: what the reader must know.
    """
    found = list(rows)
    columns = tuple(dict.fromkeys(column for row in found for column in row))
    texts = tuple(tuple(_text(row.get(column, "")) for column in columns) for row in found)
    return ResultTable(name, title, columns, texts, note)


def interval_text(found: Interval) -> str:
    """Return a ratio with its interval as text, however wide that is."""
    return f"{found.value:.3f} [{found.low:.3f}, {found.high:.3f}]"


def publish(tables: Sequence[ResultTable], folder: Path | None) -> None:
    """Print tables, and write each as a JSON file of `folder` if there is one."""
    for table in tables:
        print(table.text(), end="\n\n")
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        for table in tables:
            file = folder / f"{table.name}.json"
            file.write_text(json.dumps(table.to_json(), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
            print(f"written: {file}", file=sys.stderr)


def command() -> str:
    """Return the command of this process, as one would type it in the repository."""
    return shlex.join(["python", "-m", "benchmarks", *sys.argv[1:]])


def revision() -> str:
    """Return the commit of the working tree, with a plus where files differ from it; empty outside a repository."""
    try:
        found = _git("rev-parse", "--short=7", "HEAD")
        return found + ("+" if _git("status", "--porcelain", "--untracked-files=no") else "")
    except (OSError, subprocess.CalledProcessError):
        return ""


def this_machine() -> str:
    """Return the processor of this machine, with the number of cores that this process may use."""
    try:
        info = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        info = ""
    found = re.search(r"model name\s*: (.+)", info)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return f"{found.group(1).strip() if found else platform.processor() or platform.machine()}, {cores} cores"


def _git(*arguments: str) -> str:
    call = ["git", "-C", str(Path(__file__).parent), *arguments]
    return subprocess.run(call, check=True, capture_output=True, text=True).stdout.strip()


def _text(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
