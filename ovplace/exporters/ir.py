"""The placed model, the device of each operation inside the IR, as plain OpenVINO and `ovplace.load` take it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from ovplace.exporters._program import copy_model
from ovplace.plugins import protocols

SUMMARY = "folder with the placed model, the device of each operation inside the IR"


@dataclass(frozen=True)
class Config:
    """There is nothing to set."""


class Exporter(protocols.Exporter):
    """Writes `placed.xml`, `placed.bin` and `placement.json`."""

    target: ClassVar[str] = "ir"

    def write(self, folder: Path, target: Path) -> list[Path]:
        """Write the three files into the folder `target`, after checking that they belong together.

        Args:
            folder: a finished run, or an exported one.
            target: the folder to write into.

        Raises:
            UsageError: `target` is the run folder.
            ModelError: the placed model cannot be read.
            PlacementError: the files do not belong together, or cannot be written.
        """
        return copy_model(folder, target)[1]

    def next_step(self, run: str, written: Sequence[Path]) -> str:
        """Return how to load the folder."""
        return (
            f"load it with ovplace.load({str(written[0].parent)!r}), or without ovplace as the program does that "
            f"'ovplace export {run} --to python' writes"
        )
