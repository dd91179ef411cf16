"""The compiled model. It is bound to this OpenVINO version, these devices and their drivers."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from ovplace.atomic import atomic_write
from ovplace.errors import ModelError
from ovplace.ir.exceptions import last_line
from ovplace.ir.load import load
from ovplace.plugins import protocols

SUMMARY = "compiled model for core.import_model, bound to this OpenVINO and these drivers"


@dataclass(frozen=True)
class Config:
    """There is nothing to set."""


class Exporter(protocols.Exporter):
    """Compiles the placed model on its devices and exports it."""

    target: ClassVar[str] = "placed.blob"

    def write(self, folder: Path, target: Path) -> list[Path]:
        """Compile on the devices of the placement and write the blob to the file `target`.

        Args:
            folder: a finished run, or an exported one.
            target: the file to write.

        Raises:
            DeviceError: a device of the placement is not on this machine.
            ModelError: a device's plugin cannot export.
        """
        compiled = load(folder)
        try:
            blob = compiled.export_model()
        except RuntimeError as error:
            raise ModelError(f"a device of this placement cannot export compiled models: {last_line(error)}") from error
        atomic_write(target, blob.getbuffer())
        return [target]

    def next_step(self, run: str, written: Sequence[Path]) -> str:
        """Return how to import the blob."""
        return (
            "load it with core.import_model(blob, 'HETERO'), or the one device's name; a blob carries no device "
            "properties: set them first, as in the program that "
            f"'ovplace export {shlex.quote(run)} --to python' writes"
        )
