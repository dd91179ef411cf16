"""Folders that hold the placed model with a program that runs it."""

from __future__ import annotations

from pathlib import Path

import openvino as ov

from ovplace.errors import UsageError
from ovplace.ir.placed_model import PlacedModel, read_placed, save_placed
from ovplace.store.run_folder import RunFolder


def copy_model(folder: Path, target: Path) -> tuple[PlacedModel, list[Path]]:
    """Write the placed model of a run into another folder, each operation with its device inside the IR.

    Args:
        folder: a finished run, or an exported one.
        target: the folder to write into.

    Returns:
        The placed model, and the files written.

    Raises:
        UsageError: `target` is the run folder.
        ModelError: the placed model cannot be read.
        PlacementError: the files of the run do not belong together, or cannot be written.
    """
    if target.resolve() == folder.resolve():
        raise UsageError(f"'{folder}' is the run folder itself; choose another folder with -o")
    found = read_placed(ov.Core(), folder)
    target.mkdir(parents=True, exist_ok=True)
    save_placed(found.model, target, found.table)
    files = RunFolder(target)
    return found, [files.placed_model, files.placed_model.with_suffix(".bin"), files.placement]
