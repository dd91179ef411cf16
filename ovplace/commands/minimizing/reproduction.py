"""A failure as files that anyone can run: a model, its inputs, and a program.

The program needs OpenVINO and NumPy, and ovplace where the failure is one of the emulated GPU.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ovplace.atomic import atomic_write
from ovplace.commands.output_folder import writing_into
from ovplace.core.device import Device
from ovplace.core.measurement import ErrorKind
from ovplace.core.result.labels import marked
from ovplace.core.text.markdown_table import pipe_table
from ovplace.errors import UsageError
from ovplace.exporters._registration import steps, target_text
from ovplace.graphs.op_graph import OpGraph
from ovplace.graphs.op_kinds import FREE
from ovplace.ir.placed_model import STORED_AFFINITY

MODEL, INPUTS, PROGRAM, REPORT = "model.xml", "inputs.npz", "reproduce.py", "report.md"
"""Names of the files; the weights are beside the model."""

ELSEWHERE = "choose another place with -o"
"""What to do where they cannot be written."""

_HEAD = '''\
"""Shows a failure of OpenVINO: {what}.

Usage: python reproduce.py      (needs openvino and numpy{emulated})
"""

import sys
from pathlib import Path

import numpy as np
'''

_EMULATED = """\
import ovplace

ovplace.enable_emulated_gpu()  # before the first import of openvino: the GPU of this failure is the emulated one
"""

_BODY = """\
import openvino as ov
from openvino import opset13 as ops

sys.stdout.reconfigure(errors="backslashreplace")  # the terminal's encoding may lack characters of a name
folder = Path(__file__).resolve().parent
core = ov.Core()
{registered}model = core.read_model(folder / "model.xml")
arrays = np.load(folder / "inputs.npz")
names = [min(port.get_names(), default=port.get_node().get_friendly_name()) for port in model.inputs]


def converted(tensor, kind):  # NumPy has not all types, such as bf16
    if tensor.element_type in (kind, ov.Type.string):
        return tensor
    made = ov.Tensor(kind, tensor.shape)
    ops.convert(ops.parameter(tensor.shape, tensor.element_type), kind).evaluate([made], [tensor])
    return made


def outputs(compiled):
    request = compiled.create_infer_request()
    given = [converted(ov.Tensor(arrays[name]), port.get_element_type()) for name, port in zip(names, model.inputs)]
    for _ in range(2):
        request.infer(given)
    numbers = [tensor for tensor in request.output_tensors if tensor.element_type != ov.Type.string]
    return [np.array(converted(tensor, ov.Type.f64).data) for tensor in numbers]


print("OpenVINO", ov.get_version())
expected = outputs(core.compile_model(model, "CPU", {{"INFERENCE_PRECISION_HINT": "f32"}}))
for op in model.get_ops():
    info = op.get_rt_info()
    info["affinity"] = info["{stored}"].value
    if op.get_type_name() not in ("Constant", "Parameter", "Result"):
        print(op.get_type_name(), op.get_friendly_name(), "on", info["affinity"].value, flush=True)
found = outputs(core.compile_model(model, {target!r}))
errors = [np.abs(a - b).max(initial=0) / (np.abs(b).max(initial=0) or 1) for a, b in zip(found, expected)]
worst = float(np.max(errors, initial=0))
print("largest relative output error:", worst, flush=True)
sys.exit(0 if worst <= {limit} else "the outputs are wrong")
"""


def check_keeps_files(folder: Path) -> None:
    """Check that a reproduction written into a folder replaces nothing but an earlier one.

    Args:
        folder: it need not exist.

    Raises:
        UsageError: it would replace a file that is not of a reproduction.
    """
    if (folder / PROGRAM).exists():
        return
    for name in (MODEL, Path(MODEL).with_suffix(".bin").name, INPUTS, REPORT):
        if (path := folder / name).exists():
            raise UsageError(f"'{path}' is there and would be lost; {ELSEWHERE}, or move it")


@dataclass(frozen=True)
class Reproduction:
    """What a program has to show.

    Attributes:
        kind: how it fails.
        text: how it fails, in words.
        devices: the devices that are used.
        limit: largest relative output error of right outputs; infinite where all finite ones are allowed.
    """

    kind: ErrorKind
    text: str
    devices: Sequence[Device]
    limit: float

    @property
    def target(self) -> str:
        """The device text to compile for."""
        return target_text([device.name for device in self.devices])

    @property
    def where(self) -> str:
        """The same for readers, with a mark on what is emulated."""
        return marked(self.target, {device.name: device.emulated for device in self.devices}, False)

    def program(self) -> str:
        """Return the program."""
        emulated = any(device.emulated for device in self.devices)
        what = {
            ErrorKind.OUTPUT_MISMATCH: f"the outputs on {self.where} are not those of the CPU",
            ErrorKind.TIMEOUT: f"it does not end on {self.where}",
        }.get(self.kind, f"{self.kind.value} on {self.where}")
        limit = min(self.limit, sys.float_info.max)  # infinite errors are wrong whatever is allowed
        calls = "".join(f"{call}\n" for step in steps(self.devices) for call in step.calls())
        parts = [
            _HEAD.format(what=what, emulated="; ovplace for the emulated GPU" if emulated else ""),
            *([_EMULATED] if emulated else []),
            _BODY.format(registered=calls, target=self.target, limit=limit, stored=STORED_AFFINITY),
        ]
        return "\n".join(parts)

    def report(self, facts: Mapping[str, str], graph: OpGraph, table: Mapping[str, str]) -> Iterator[str]:
        """Yield the lines of the report.

        Args:
            facts: versions and hardware, by name.
            graph: operations of the model.
            table: device of each of them, by name.
        """
        yield f"# {self.kind.value.replace('_', ' ').capitalize()} on {self.where}"
        yield from ("", f"    {self.text}", "")
        yield f"Run `python {PROGRAM}` here: it compares the outputs on {self.where} with those on the CPU in f32."
        yield ""
        yield from (f"- {name}: {value}" for name, value in facts.items())
        yield from (f"- {device.name}: {device.facts.get('full_name', device.base)}" for device in self.devices)
        yield ""
        shapes = [" ".join(str(list(shape)) for shape in of_one) for of_one in graph.shapes]
        rows = [(name, kind, of, table[name]) for name, kind, of in zip(graph.names, graph.types, shapes, strict=True)]
        header = ("operation", "type", "output", "device")
        yield from pipe_table(header, [row for row in rows if row[1] not in FREE]).splitlines()


def write_reproduction(
    folder: Path, what: Reproduction, facts: Mapping[str, str], graph: OpGraph, table: Mapping[str, str]
) -> None:
    """Write program and report beside model and inputs.

    Args:
        folder: where these are.
        what: has to be shown.
        facts: versions and hardware, by name.
        graph: operations of the model.
        table: device of each of them, by name.

    Raises:
        StoreError: they cannot be written.
    """
    with writing_into(folder, ELSEWHERE):
        atomic_write(folder / PROGRAM, what.program())
        atomic_write(folder / REPORT, "\n".join(what.report(facts, graph, table)) + "\n")
