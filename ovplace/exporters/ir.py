"""The placed model with its placement, as `ovplace.load` takes it."""

from __future__ import annotations

import shutil
from pathlib import Path

import openvino as ov

from ovplace.errors import UsageError
from ovplace.ir import placed_model

TARGET = "ir"


def write(folder: Path, target: Path) -> list[Path]:
    """Copy the three files into the folder `target`, after checking that they belong together."""
    if target.resolve() == folder.resolve():
        raise UsageError(f"'{folder}' is the run folder itself; choose another folder with -o")
    placed_model.read_placed(ov.Core(), folder)
    target.mkdir(parents=True, exist_ok=True)
    names = (placed_model.MODEL, str(Path(placed_model.MODEL).with_suffix(".bin")), placed_model.TABLE)
    return [Path(shutil.copyfile(folder / name, target / name)) for name in names]
