"""The placed model with its placement, as `ovplace.load` takes it."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import openvino as ov

from ovplace.errors import UsageError
from ovplace.ir import placed_model
from ovplace.plugins import protocols
from ovplace.store.run_folder import RunFolder

SUMMARY = "the placed model in a folder, for ovplace.load"


@dataclass(frozen=True)
class Config:
    """There is nothing to set."""


class Exporter(protocols.Exporter):
    """Copies `placed.xml`, `placed.bin` and `placement.json`."""

    target: ClassVar[str] = "ir"

    def write(self, folder: Path, target: Path) -> list[Path]:
        """Copy the three files into the folder `target`, after checking that they belong together.

        Args:
            folder: a finished run, or an exported one.
            target: the folder to write into.

        Raises:
            UsageError: `target` is the run folder.
            ModelError: the placed model cannot be read.
            PlacementError: the files do not belong together.
        """
        if target.resolve() == folder.resolve():
            raise UsageError(f"'{folder}' is the run folder itself; choose another folder with -o")
        placed_model.read_placed(ov.Core(), folder)
        target.mkdir(parents=True, exist_ok=True)
        run = RunFolder(folder)
        files = (run.placed_model, run.placed_model.with_suffix(".bin"), run.placement)
        return [Path(shutil.copyfile(file, target / file.name)) for file in files]

    def next_step(self, run: str, written: Sequence[Path]) -> str:
        """Return how to load the folder."""
        return f"load it with: python -c \"import ovplace; compiled = ovplace.load('{written[0].parent}')\""
