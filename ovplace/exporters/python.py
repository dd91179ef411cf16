"""A Python program with the placed model; it needs OpenVINO alone, unless the placement uses the emulated GPU."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from ovplace.exporters._model_folder import ModelFolderExporter
from ovplace.exporters._registration import steps, target_text
from ovplace.ir.placed_model import STORED_AFFINITY, PlacedModel

SUMMARY = "folder with the placed model and a Python program that runs it with OpenVINO alone"

_HEAD = '''\
"""Runs a model placed by ovplace, each operation on its device.

Usage: python infer.py [FOLDER]

FOLDER holds placed.xml and placed.bin; by default it is the one of this program.
"""

import sys
from pathlib import Path
'''

_EMULATED = """\
import ovplace

ovplace.enable_emulated_gpu()  # before the first import of openvino: this placement's GPU is the emulated one
"""

_CORE = """\
import openvino as ov

folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parent
core = ov.Core()"""

_BODY = """\
model = core.read_model(folder / "placed.xml")
for op in model.get_ops():
    info = op.get_rt_info()
    info["affinity"] = info["{stored}"].value  # an IR keeps the device under one key, HETERO reads the other
compiled = core.compile_model(model, {target!r})

request = compiled.create_infer_request()
for tensor in request.input_tensors:
    if tensor.element_type != ov.Type.string:
        tensor.data[...] = 1  # a valid index, mask and count; your own values go here
request.infer()
for number, tensor in enumerate(request.output_tensors):
    print(f"output {{number}}: {{tensor.element_type.get_type_name()}} {{list(tensor.shape)}}")
"""


@dataclass(frozen=True)
class Config:
    """There is nothing to set."""


class Exporter(ModelFolderExporter):
    """Writes `infer.py` and the placed model into a folder, which may be moved."""

    target: ClassVar[str] = "python"

    def programs(self, found: PlacedModel) -> Mapping[str, str]:
        """Return the program."""
        return {"infer.py": _text(found)}

    def next_step(self, run: str, written: Sequence[Path]) -> str:
        """Return how to run the program."""
        return f"run it with: python {shlex.quote(str(written[0]))}"


def _text(found: PlacedModel) -> str:
    parts = [
        _HEAD,
        _EMULATED if any(device.emulated for device in found.devices) else "",
        _CORE,
        *(line for step in steps(found.devices) for line in step.calls()),
        _BODY.format(stored=STORED_AFFINITY, target=target_text([device.name for device in found.devices])),
    ]
    return "\n".join(part for part in parts if part)
