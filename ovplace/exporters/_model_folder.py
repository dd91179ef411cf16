"""Folders that hold the placed model, some with a program that runs it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import openvino as ov

from ovplace.atomic import atomic_write
from ovplace.ir.placed_model import PlacedModel, read_placed, save_placed
from ovplace.plugins import protocols
from ovplace.store.run_folder import RunFolder


class ModelFolderExporter(protocols.Exporter):
    """Base of exporters that write the placed model into a folder, which may be moved."""

    def write(self, folder: Path, target: Path) -> list[Path]:
        """Write the programs and the model, each operation with its device inside the IR, into the folder `target`.

        Args:
            folder: a finished run, or an exported one.
            target: the folder to write into.

        Raises:
            ModelError: the placed model cannot be read.
            PlacementError: the files of the run do not belong together, or cannot be written.
        """
        found = read_placed(ov.Core(), folder)
        target.mkdir(parents=True, exist_ok=True)
        save_placed(found.model, target, found.table)
        programs = self.programs(found)
        for name, text in programs.items():
            atomic_write(target / name, text)
        files = RunFolder(target)
        model = [files.placed_model, files.placed_model.with_suffix(".bin"), files.placement]
        return [*(target / name for name in programs), *model]

    def programs(self, found: PlacedModel) -> Mapping[str, str]:
        """Return the files to write beside the model, texts by name, the main one first; none by default.

        Args:
            found: the placed model.
        """
        return {}
