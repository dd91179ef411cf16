"""A copy of the placed model in which every layer shows its device, for viewers such as Netron.

The device is one attribute more in each layer's `<data>`: viewers show it among the layer's own, and OpenVINO reads
past it, so that the copy still loads (run on openvino 2026.4.1).
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar
from xml.etree import ElementTree

import openvino as ov

from ovplace.atomic import replacing
from ovplace.errors import UsageError
from ovplace.exporters._control_characters import written_out
from ovplace.ir import placed_model
from ovplace.plugins import protocols
from ovplace.store.run_folder import RunFolder

SUMMARY = "IR for viewers such as Netron, whose layers show their device"


@dataclass(frozen=True)
class Config:
    """There is nothing to set."""


class Exporter(protocols.Exporter):
    """Writes the device of each layer among its attributes."""

    target: ClassVar[str] = "netron.xml"

    def write(self, folder: Path, target: Path) -> list[Path]:
        """Write the model to the file `target` (`.xml`) and its weights beside it.

        Args:
            folder: a finished run, or an exported one.
            target: the `.xml` to write.

        Raises:
            UsageError: `target` is no `.xml`.
            ModelError: the placed model cannot be read.
            PlacementError: the files of the run do not belong together.
        """
        if target.suffix != ".xml":
            raise UsageError(f"'{target}' must end in .xml, as viewers and OpenVINO expect of an IR")
        source = RunFolder(folder).placed_model
        found = placed_model.read_placed(ov.Core(), folder)
        document = _document(source)
        label = {device.name: device.label for device in found.devices}
        device_of = {written_out(name): label[device] for name, device in found.table.items()}
        for layer in document.iterfind("./layers/layer"):
            data = layer.find("data")
            if data is None:
                data = ElementTree.Element("data")
                layer.insert(0, data)
            data.set("device", device_of[layer.attrib["name"]])
        weights = target.with_suffix(".bin")
        with replacing(target) as new, replacing(weights) as new_weights:
            document.write(new, encoding="utf-8", xml_declaration=True)
            shutil.copyfile(source.with_suffix(".bin"), new_weights)
        return [target, weights]

    def next_step(self, run: str, written: Sequence[Path]) -> str:
        """Return what to open."""
        return f"open {written[0]} in Netron; Ctrl+D shows the device of every layer"


def _document(path: Path) -> ElementTree.ElementTree:
    """Return an IR, without what OpenVINO writes that is no XML: control characters, and bytes that are not UTF-8."""
    text = re.sub(r"&#(\d\d);", _written_out, path.read_text(encoding="utf-8", errors="backslashreplace"))
    return ElementTree.ElementTree(ElementTree.fromstring(written_out(text)))


def _written_out(reference: re.Match[str]) -> str:
    character = chr(int(reference[1]))
    written = written_out(character)
    return reference[0] if written == character else written
