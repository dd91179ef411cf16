"""Stages of the emulated GPU share the kernels that they have compiled."""

import json
import subprocess
import sys

import pytest

from ovplace.devices import emulated_gpu
from ovplace.testing.slow import slow_except

PROBLEM = emulated_gpu.why_unavailable()
pytestmark = pytest.mark.skipif(bool(PROBLEM), reason=PROBLEM)

PROGRAM = """
import json, os, sys
from pathlib import Path
from ovplace.devices import emulated_gpu
emulated_gpu.enable()
import numpy as np
import openvino as ov
from openvino import opset13 as opset
from ovplace.devices.variants import register
from ovplace.stages.compiler import Compiler
from ovplace.store.blobs import Blobs

folder = Path(sys.argv[1])
core, gpu = ov.Core(), emulated_gpu.emulated_device()
register(core, [gpu])
compiler = Compiler(core, Blobs(int(sys.argv[2]), folder), "identity")
array = np.random.default_rng(0).normal(size=(1, 8, 16, 16)).astype(np.float32)

def model(*functions):
    x = opset.parameter(list(array.shape), np.float32)
    y = x
    for function in functions:
        y = function(y)
    return ov.Model([y], [x])

def softmax(x):
    return opset.softmax(x, 1)

def cumulative(x):
    return opset.cum_sum(x, opset.constant(2))

def run(*functions, ops=(0, 1)):
    compiled = compiler.compile(model(*functions), list(ops), gpu)
    request = compiled.create_infer_request()
    request.infer([array])
    return request.get_output_tensor().data.copy()

def kernels():
    return sorted(path.name for path in folder.glob("*.cl_cache"))

def expected(*functions):
    return core.compile_model(model(*functions), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})([array])[0]
"""


def child(tmp_path, code, limit_bytes=2**30):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM + code, str(tmp_path / "blobs"), str(limit_bytes)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_stage_compiles_the_kernels_that_no_earlier_stage_had(tmp_path):
    code = """
def new(*functions):
    before = kernels()
    close = np.allclose(run(*functions), expected(*functions), atol=1e-3)
    return bool(close), len(set(kernels()) - set(before))

settings = dict(os.environ)
stages = [softmax], [cumulative], [softmax, cumulative], [cumulative, softmax], [cumulative, opset.sin, softmax]
print(json.dumps([new(*functions) for functions in stages]))
assert os.environ == settings
"""
    close, new = zip(*json.loads(child(tmp_path, code)), strict=True)  # the plugin has printed nothing
    assert all(close)
    assert new[0]
    assert new[1]
    assert new[2:4] == (0, 0)
    assert new[4]


def test_the_folder_is_listed_only_where_a_kernel_was_added(tmp_path):
    code = """
looked, real = [], Blobs.keep_kernels
Blobs.keep_kernels = lambda self: (looked.append(self), real(self))
for functions in [softmax], [softmax], [cumulative]:
    run(*functions)
    print(len(looked), end=" ")
"""
    assert child(tmp_path, code).split() == ["1", "1", "2"]


def test_what_one_process_compiles_serves_the_next(tmp_path):
    def written():
        return {path.name: path.stat().st_mtime_ns for path in (tmp_path / "blobs").iterdir()}

    code = "print(json.dumps(bool(np.allclose(run(opset.sin, softmax), expected(opset.sin, softmax), atol=1e-3))))"
    assert json.loads(child(tmp_path, code))
    before = written()
    assert before
    assert all(name.endswith(".cl_cache") for name in before)  # kernels are all that is stored
    assert json.loads(child(tmp_path, code))
    assert written() == before  # what is compiled is written


@pytest.mark.parametrize("part", slow_except([slice(100)], [slice(0), slice(100), slice(-100)]))
def test_damaged_kernels_are_compiled_anew(tmp_path, part):
    child(tmp_path, "run(opset.sin)")
    for path in (tmp_path / "blobs").glob("*.cl_cache"):
        path.chmod(0o644)
        path.write_bytes(path.read_bytes()[part])
        path.chmod(0o444)
    code = "print(json.dumps([bool(np.allclose(run(opset.sin), expected(opset.sin), atol=1e-5)), len(kernels())]))"
    right, left = json.loads(child(tmp_path, code))
    assert right
    assert left == (1 if part == slice(0) else 0)  # an empty file is none to the plugin, which writes it anew


def test_kernels_that_a_killed_process_was_writing_are_deleted(tmp_path):
    (tmp_path / "blobs").mkdir()
    (tmp_path / "blobs" / "1.cl_cache").write_bytes(b"half of a kernel")
    assert json.loads(child(tmp_path, "run(opset.sin)\nprint(json.dumps('1.cl_cache' in kernels()))")) is False
    assert {path.stat().st_mode & 0o777 for path in (tmp_path / "blobs").iterdir()} == {0o444}


def test_a_stage_that_does_not_compile_costs_no_kernels(tmp_path):
    code = """
run(opset.sin)
before = kernels()
compile_model = core.compile_model
def refuses(*arguments):
    raise RuntimeError("the device refuses")
core.compile_model = refuses
try:
    run(opset.sin)
except RuntimeError as error:
    print(json.dumps([str(error), bool(before), kernels() == before]))
"""
    assert json.loads(child(tmp_path, code)) == ["the device refuses", True, True]


def test_whole_models_are_blobs(tmp_path):
    child(tmp_path, "import ovplace.stages.compiler as c\nc.WORTH_S = 0\nrun(opset.sin, ops=())")
    assert [path.suffix for path in (tmp_path / "blobs").iterdir()] == [".blob"]


def test_without_a_cache_nothing_is_stored(tmp_path):
    code = "print(json.dumps(bool(np.allclose(run(opset.sin), expected(opset.sin), atol=1e-5))))"
    assert json.loads(child(tmp_path, code, limit_bytes=0))
    assert not (tmp_path / "blobs").exists()


def test_variables_of_the_user_come_back(tmp_path):
    code = """
os.environ["OV_CACHE_MODE"] = "OPTIMIZE_SPEED"
run(opset.sin)
print(json.dumps({name: value for name, value in os.environ.items() if name.startswith("OV_")}))
"""
    said = child(tmp_path, code)  # the plugin prints the user's variable wherever it is used
    assert json.loads(said.splitlines()[-1]) == {"OV_CACHE_MODE": "OPTIMIZE_SPEED"}
