"""The bare placement: one flat JSON object, operation name to device, as OpenVINO's sample hello_affinity reads it.

Source: OpenVINO pull request 36634. The sample takes every key for an operation's name and refuses those that it does
not find, so there is no version and no hash in the file; every device must be in its `-d HETERO:...`.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import openvino as ov

from ovplace.errors import UsageError
from ovplace.exporters._limits import emulated_only_in_python, unregistered
from ovplace.ir.placed_model import read_placed
from ovplace.plugins import protocols

SUMMARY = "flat JSON, operation name to device, for OpenVINO's hello_affinity"


@dataclass(frozen=True)
class Config:
    """There is nothing to set."""


class Exporter(protocols.TextExporter):
    """Writes the placement as OpenVINO's hello_affinity sample reads it."""

    target: ClassVar[str] = "affinity.json"

    def text(self, folder: Path) -> str:
        """Return the placement of `folder`."""
        table = read_placed(ov.Core(), folder).table
        return json.dumps(table, indent=0, ensure_ascii=False) + "\n"

    def write(self, folder: Path, target: Path) -> list[Path]:
        """Write the placement to the file `target`.

        Args:
            folder: a finished run, or an exported one.
            target: the `.json` to write.

        Raises:
            UsageError: `target` does not end in `.json`; the sample would take it for a device.
            OvplaceError: the folder cannot be read.
        """
        if target.suffix != ".json":
            raise UsageError(f"'{target}' must end in .json: hello_affinity takes any other text for a device")
        return super().write(folder, target)

    def limits(self, folder: Path) -> tuple[str, ...]:
        """Return what hello_affinity cannot set up: variants, properties, the emulated GPU.

        Raises:
            ModelError: the placed model cannot be read.
            PlacementError: the files do not belong together.
        """
        devices = read_placed(ov.Core(), folder).devices
        return unregistered(devices, "hello_affinity") + emulated_only_in_python(devices)

    def next_step(self, run: str, written: Sequence[Path]) -> str:
        """Return how hello_affinity takes the file."""
        model, affinity = shlex.quote(str(Path(run) / "placed.xml")), shlex.quote(str(written[0]))
        return f"load it with: hello_affinity -m {model} --affinity {affinity} -d HETERO:..., naming all of its devices"
