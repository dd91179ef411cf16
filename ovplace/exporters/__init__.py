"""Forms in which an answer can be taken elsewhere: one format a file, in two kinds.

A text format holds `text(folder) -> str`; a file format holds `TARGET`, the usual name of what it writes, and
`write(folder, target) -> paths`.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType

from ovplace.errors import PlacementError, StoreError, UsageError

FILES = {
    "ir": "folder with placed.xml, placed.bin and placement.json, for ovplace.load",
    "blob": "compiled model for core.import_model, bound to this OpenVINO and these drivers",
    "netron": "IR for viewing whose layers show their device",
}
TEXTS = {
    "json": "flat JSON, operation name to device",
    "dot": "Graphviz, a colour a device, transfers on the edges",
    "python": "Python program that loads the placed model with OpenVINO alone",
    "cpp": "C++ program that loads the placed model with OpenVINO alone",
}
FORMATS = FILES | TEXTS


def load(name: str) -> ModuleType:
    """Return the module of a format.

    Raises:
        UsageError: there is none of that name.
    """
    if name not in FORMATS:
        raise UsageError(f"unknown format '{name}'; there are: {', '.join(FORMATS)}")
    return importlib.import_module(f"ovplace.exporters.{name}")


def export(folder: Path, name: str, target: Path) -> list[Path]:
    """Write the answer that lies in a run folder in another form.

    Args:
        folder: a finished run, or an exported one.
        name: the format.
        target: the file, or the folder where the format is several files.

    Returns:
        What was written.

    Raises:
        PlacementError: there is no finished run.
        StoreError: the target cannot be written.
    """
    check(folder)
    form = load(name)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        if name in TEXTS:
            target.write_text(form.text(folder), encoding="utf-8")
            return [target]
        written: list[Path] = form.write(folder, target)
    except OSError as error:
        raise StoreError(f"cannot write '{target}': {error.strerror}; choose another place with -o") from error
    return written


def text(folder: Path, name: str) -> str:
    """Return the answer in a text format.

    Raises:
        PlacementError: there is no finished run.
    """
    check(folder)
    return str(load(name).text(folder))


def check(folder: Path) -> None:
    """Check that there is an answer to export.

    Raises:
        PlacementError: there is none.
    """
    if not folder.is_dir():
        raise PlacementError(f"there is no run folder '{folder}'; 'ovplace optimize MODEL -o {folder}' makes one")
    if not (folder / "placement.json").exists():
        raise PlacementError(
            f"'{folder}' holds no finished run: there is no placement.json; give the 'ovplace optimize' command again"
        )
