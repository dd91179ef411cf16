"""A Python program that loads the placed model with OpenVINO alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import openvino as ov

from ovplace.exporters._registration import Step, steps, target
from ovplace.ir import placed_model
from ovplace.plugins import protocols

SUMMARY = "Python program that loads the placed model with OpenVINO alone"

_EMULATED = """\
import ovplace

ovplace.enable_emulated_gpu()  # before the first import of openvino: this placement's GPU is the emulated one
"""

_BODY = """\
model = core.read_model(folder / "placed.xml")
placement = json.loads((folder / "placement.json").read_text(encoding="utf-8"))
for op in model.get_ops():
    op.get_rt_info()["affinity"] = placement[op.get_friendly_name()]
compiled = core.compile_model(model, {target!r})

request = compiled.create_infer_request()
print("inputs: ", [str(port) for port in compiled.inputs])
print("outputs:", [str(port) for port in compiled.outputs])
"""


@dataclass(frozen=True)
class Config:
    """There is nothing to set."""


class Exporter(protocols.TextExporter):
    """Writes a program that sets devices and affinities up, compiles and infers."""

    def text(self, folder: Path) -> str:
        """Return the program for the run in `folder`."""
        found = placed_model.read_placed(ov.Core(), folder)
        parts = [
            '"""Loads a model placed by ovplace: each operation on its device."""\n',
            "import json\nfrom pathlib import Path\n",
            _EMULATED if any(device.emulated for device in found.devices) else "",
            "import openvino as ov\n",
            f"folder = Path({str(folder.resolve())!r})\ncore = ov.Core()",
            *(line for step in steps(found.devices) for line in _registered(step)),
            _BODY.format(target=target([device.name for device in found.devices])),
        ]
        return "\n".join(part for part in parts if part)


def _registered(step: Step) -> Iterator[str]:
    if step.library:
        yield f"core.register_plugin({step.library!r}, {step.name!r})"
    if step.properties:
        yield f"core.set_property({step.name!r}, {step.properties!r})"
