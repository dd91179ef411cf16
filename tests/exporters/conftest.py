"""Finished placements whose names and folders try to break what is written."""

import json
import subprocess
import sys

import numpy as np
import openvino as ov
import pytest

from ovplace.core.device import Device
from ovplace.ir.load import load
from ovplace.ir.placed_model import write_placed
from ovplace.ir.prepare.prepare import prepare
from ovplace.testing.models import TINY

NASTY = " 'q' \"d\" \\n\n\t${x} <é&lt;> /*%s*/ {0}"
"""Follows every operation's name, and is the name of the folder."""


def placed(folder, devices, second, suffix=""):
    """Write the placed tiny model into `folder`, the second convolution on the second device."""
    model = TINY["residual"]()
    for op in model.get_ops():
        op.set_friendly_name(op.get_friendly_name() + suffix)
    return place(model, folder, devices, second, ("conv1", "w1"))


def place(model, folder, devices, second="", there=()):
    """Write a placed model into `folder`, operations whose names begin with one of `there` on the second device."""
    folder.mkdir(parents=True)
    ov.save_model(model, folder / "given.xml", compress_to_fp16=False)
    prepare(folder / "given.xml", folder / "placed.xml")
    names = [op.get_friendly_name() for op in ov.Core().read_model(folder / "placed.xml").get_ordered_ops()]
    table = {name: second if name.startswith(there) else devices[0].name for name in names}
    write_placed(folder / "placed.xml", folder, table, devices, {})
    return folder


F32 = {"INFERENCE_PRECISION_HINT": "f32"}
VARIANTS = [Device("CPU", "CPU", F32), Device("CPU_B", "CPU", F32)]


@pytest.fixture(scope="session")
def nasty(tmp_path_factory):
    """Return a placement on two CPU variants, in a folder whose name is as nasty as its operations'."""
    return placed(tmp_path_factory.mktemp("nasty") / NASTY.replace("/", "-"), VARIANTS, "CPU_B", NASTY)


@pytest.fixture(scope="session")
def emulated(tmp_path_factory):
    """Return a placement on the CPU and the emulated GPU."""
    devices = [Device("CPU", "CPU", F32), Device("GPU", "GPU", F32, emulated=True)]
    return placed(tmp_path_factory.mktemp("emulated") / "run", devices, "GPU")


@pytest.fixture(scope="session")
def plain(tmp_path_factory):
    """Return a placement that names devices only: CPU for one half, and AUTO, a second device without a variant."""
    return placed(tmp_path_factory.mktemp("plain") / "run", [Device("CPU", "CPU"), Device("GPU.1", "GPU.1")], "GPU.1")


@pytest.fixture(scope="session")
def outputs(nasty):
    """Return what the placed model computes."""
    return infer(load(nasty))


@pytest.fixture
def table(nasty):
    """Return the placement."""
    return json.loads((nasty / "placement.json").read_text(encoding="utf-8"))


def infer(compiled):
    """Return the output for a fixed input."""
    x = np.random.default_rng(0).normal(size=(1, 3, 8, 8)).astype(np.float32)
    return compiled([x])[0]


def run_python(*arguments, **options):
    """Run Python in a new process."""
    return subprocess.run(
        [sys.executable, *map(str, arguments)], capture_output=True, text=True, check=False, **options
    )
