"""Stages of the emulated GPU share the kernels that they have compiled."""

import json
import subprocess
import sys

import pytest

from ovplace.devices import emulated_gpu
from ovplace.store.blobs import Blobs

PROBLEM = emulated_gpu.why_unavailable()
pytestmark = pytest.mark.skipif(bool(PROBLEM), reason=PROBLEM)

PROGRAM = """
import json, os, sys
from pathlib import Path
from time import perf_counter
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
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_another_stage_compiles_only_kernels_that_are_new(tmp_path):
    code = """
alone = run(softmax), run(cumulative)
first = kernels()
both = run(softmax, cumulative)
again = run(cumulative, softmax)
close = [np.allclose(got, want, atol=1e-3) for got, want in (
    (alone[0], expected(softmax)), (alone[1], expected(cumulative)),
    (both, expected(softmax, cumulative)), (again, expected(cumulative, softmax)))]
new = len(set(kernels()) - set(first))
print(json.dumps([close, len(first), new, [name for name in os.environ if name.startswith("OV_")]]))
"""
    close, first, new, left = json.loads(child(tmp_path, code))  # the plugin has printed nothing
    assert all(close)
    assert first == 2
    assert new == 0
    assert left == []


def test_what_one_process_compiles_serves_the_next(tmp_path):
    code = """
start = perf_counter()
run(opset.sin, opset.cos, opset.asinh, opset.acosh)
print(json.dumps([perf_counter() - start, kernels()]))
"""
    (first_s, first), (second_s, second) = (json.loads(child(tmp_path, code)) for _ in range(2))
    assert first == second
    assert second_s < first_s / 2
    assert not list((tmp_path / "blobs").glob("*.blob"))  # kernels are all that is stored


def test_damaged_kernels_are_compiled_anew(tmp_path):
    child(tmp_path, "run(opset.sin)")
    for path in (tmp_path / "blobs").glob("*.cl_cache"):
        path.write_bytes(path.read_bytes()[:-100])
    code = "print(json.dumps([bool(np.allclose(run(opset.sin), expected(opset.sin), atol=1e-5)), kernels()]))"
    assert json.loads(child(tmp_path, code)) == [True, []]


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
    child(tmp_path, "run(opset.sin, opset.cos, ops=())")
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
    assert json.loads(child(tmp_path, code).splitlines()[-1]) == {"OV_CACHE_MODE": "OPTIMIZE_SPEED"}


def test_kernels_count_as_blobs(tmp_path):
    blobs = Blobs(1000, tmp_path)
    (tmp_path / "1.cl_cache").write_bytes(bytes(2000))
    blobs.shrink()
    assert not list(tmp_path.iterdir())
    (tmp_path / "2.cl_cache").write_bytes(bytes(100))
    blobs.keep("a", b"content")
    blobs.drop_kernels()
    assert [path.name for path in tmp_path.iterdir()] == ["a.blob"]
