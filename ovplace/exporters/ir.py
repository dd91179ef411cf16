"""The placed model, the device of each operation inside the IR, as plain OpenVINO and `ovplace.load` take it."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from ovplace.exporters._model_folder import ModelFolderExporter

SUMMARY = "folder with the placed model, the device of each operation inside the IR"


@dataclass(frozen=True)
class Config:
    """There is nothing to set."""


class Exporter(ModelFolderExporter):
    """Writes `placed.xml`, `placed.bin` and `placement.json`."""

    target: ClassVar[str] = "ir"

    def next_step(self, run: str, written: Sequence[Path]) -> str:
        """Return how to load the folder."""
        return (
            f"load it with ovplace.load({str(written[0].parent)!r}), or without ovplace as in the program that "
            f"'ovplace export {shlex.quote(run)} --to python' writes"
        )
