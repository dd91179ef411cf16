"""A runner, tiny models and a finished run."""

import subprocess
import sys
from dataclasses import dataclass

import numpy as np
import openvino as ov
import pytest
from openvino import opset14

from ovplace import zoo
from ovplace.cli import main
from ovplace.testing.models import TINY

PROGRAM = [sys.executable, "-c", "from ovplace.cli import main; main()"]
DEVICES = "CPU_A=CPU{INFERENCE_PRECISION_HINT:f32},CPU{INFERENCE_PRECISION_HINT:f32}"
QUICK = [
    *("-d", DEVICES, "--budget", "3", "--placer", "cut"),
    *("--set", "measure.min_time_ms=1", "--set", "measure.blocks=1"),
    *(
        "--set",
        "comparison.min_time_ms=1",
        "--set",
        "comparison.blocks=3",
        "--set",
        "comparison.rounds=2",
        "--set",
        "comparison.finalists=1",
    ),
]


UNEVEN = """
[devices.GPU]
peak_gflops = 300
gb_per_s = 100
efficiency = 0.0005
efficiencies = {Convolution = 0.5}
[devices.CPU]
peak_gflops = 300
gb_per_s = 100
efficiencies = {Convolution = 0.02}
[links.default]
latency_us = 1
gb_per_s = 100
"""


@dataclass(frozen=True)
class Done:
    code: int
    out: str
    err: str


@pytest.fixture
def ovplace(capfd, monkeypatch):
    """Return a function that runs the command line in this process, native output captured too."""

    def run(*arguments):
        texts = [str(argument) for argument in arguments]
        monkeypatch.setattr(sys, "argv", ["ovplace", *texts])
        capfd.readouterr()
        with pytest.raises(SystemExit) as end:
            main(texts)
        out, err = capfd.readouterr()
        return Done(end.value.code, out, err)

    return run


@pytest.fixture(scope="session")
def program():
    """The command as a program of its own."""
    return PROGRAM


@pytest.fixture(scope="session")
def quick():
    """Options of a search that takes seconds."""
    return QUICK


@pytest.fixture(scope="session")
def tiny(tmp_path_factory):
    """Return a small model as IR."""
    path = tmp_path_factory.mktemp("models") / "tiny.xml"
    ov.save_model(TINY["residual"](), path, compress_to_fp16=False)
    return path


@pytest.fixture(scope="session")
def detector(tmp_path_factory):
    """Return a model of convolutions and what follows them as IR."""
    path = tmp_path_factory.mktemp("models") / "small.xml"
    recipe = zoo.recipe("detector-head")
    ov.save_model(recipe.build(recipe.SMALL), path, compress_to_fp16=False)
    return path


@pytest.fixture
def uneven(tmp_path):
    """Return the file of a machine whose GPU is good at convolutions only, its CPU at all else."""
    path = tmp_path / "mine.toml"
    path.write_text(UNEVEN)
    return path


@pytest.fixture(scope="session")
def finished(tiny, tmp_path_factory):
    """Return the folder of a finished run, and what the command printed."""
    folder = tmp_path_factory.mktemp("runs") / "tiny"
    command = [*PROGRAM, "optimize", str(tiny), "-o", str(folder), *QUICK]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder, Done(done.returncode, done.stdout, done.stderr)


@pytest.fixture(scope="session")
def inverse(tmp_path_factory):
    """Return a model whose middle operation the GPU plugin does not support."""
    x = opset14.parameter([4, 4], np.float32, name="x")
    middle = opset14.inverse(opset14.relu(x, name="before"), name="middle")
    path = tmp_path_factory.mktemp("models") / "inverse.xml"
    ov.save_model(ov.Model([opset14.result(opset14.exp(middle, name="after"))], [x]), path, compress_to_fp16=False)
    return path
