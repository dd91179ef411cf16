"""The notebooks of the documentation run from top to bottom, and show what they print."""

from __future__ import annotations

import os
import sys
from itertools import groupby
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

ROOT = Path(__file__).parent.parent
NOTEBOOKS = sorted((ROOT / "docs/notebooks").glob("*.ipynb"))


def code(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def shown(cell):
    """Return the kinds of output of a cell: no empty line of progress, and text that came in pieces once."""
    kinds = [output.output_type for output in cell.outputs if output.get("data", {}).get("text/plain") != ""]
    return [kind for kind, _ in groupby(kinds)]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_what_they_print_is_stored_and_holds_nothing_of_the_machine(path):
    cells = code(nbformat.read(path, 4))
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    assert sum(bool(cell.outputs) for cell in cells) > len(cells) / 2
    assert str(Path.home()) not in path.read_text(encoding="utf-8")
    assert "/tmp/" not in path.read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_they_run(path, tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    notebook = nbformat.read(path, 4)
    for cell in code(notebook):
        cell.source = cell.source.replace('time="90s"', 'time="45s"')  # what a reader has patience for
    NotebookClient(notebook, timeout=280, resources={"metadata": {"path": str(tmp_path)}}).execute()
    for stored, now in zip(code(nbformat.read(path, 4)), code(notebook), strict=True):
        assert shown(now) == shown(stored)
