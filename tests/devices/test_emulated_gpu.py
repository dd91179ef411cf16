"""The emulated GPU, each time in a process of its own: it must come before openvino, which tests share."""

import os
import subprocess
import sys

import pytest

from ovplace.devices import emulated_gpu
from ovplace.errors import DeviceError

PROBLEM = emulated_gpu.why_unavailable()
needs_runtime = pytest.mark.skipif(bool(PROBLEM), reason=PROBLEM)

MODEL = """
import numpy as np
import openvino as ov
from openvino import opset13 as ops

rng = np.random.default_rng(0)
X = rng.normal(size=(1, 8, 16, 16)).astype(np.float32)

def model():
    x = ops.parameter([1, 8, 16, 16], np.float32, name="x")
    w = ops.constant(np.random.default_rng(1).normal(size=(8, 8, 3, 3)).astype(np.float32), name="w")
    c = ops.convolution(x, w, [1, 1], [1, 1], [1, 1], [1, 1], name="c")
    s = ops.sin(c, name="s")
    m = ops.matmul(s, ops.constant(np.eye(16, dtype=np.float32) * 2 + 1, name="k"), False, False, name="m")
    return ov.Model([ops.result(m, name="out")], [x], "tiny")

def run(core, device, table=None, config={}):
    placed = model()
    for op in placed.get_ops() if table else ():
        op.get_rt_info()["affinity"] = table(op.get_friendly_name())
    return core.compile_model(placed, device, config)(X)[0]
"""


def child(code: str) -> str:
    """Run `code` in a new process and return what it prints."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@needs_runtime
def test_agrees_with_the_cpu_alone_aliased_and_mixed():
    code = (
        """
from ovplace.core.device import Device
from ovplace.devices import discover, emulated_gpu, variants
emulated_gpu.enable()
emulated_gpu.enable()
"""
        + MODEL
        + """
core = ov.Core()
assert "GPU" in core.available_devices, core.available_devices
assert "emulated" in core.get_property("GPU", "FULL_DEVICE_NAME")
found = {d.name: d for d in discover.discover(core)}
assert found["GPU"].emulated and found["GPU"].facts["kind"] == "emulated" and not found["CPU"].emulated
gpu, cpu = emulated_gpu.emulated_device(), Device("CPU", "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
by_id = emulated_gpu.emulated_device("GPU0_F32", "GPU.0")
variants.register(core, [gpu, cpu, variants.null_alias(gpu), by_id])
want = run(core, "CPU")
for name in ("GPU", "GPU_NULL", "GPU0_F32"):
    assert np.abs(run(core, name) - want).max() < 1e-4 * np.abs(want).max(), name
    got = run(core, f"HETERO:{name},CPU", lambda op: name if op in "xwcs" else "CPU")
    assert np.abs(got - want).max() < 1e-4 * np.abs(want).max(), name
unknown = emulated_gpu.emulated_device("GPU_B", "GPU", {"A": "1"})
for bad in (emulated_gpu.emulated_device("GPU_A", "GPU.1"), Device("GPU", "GPU"), unknown):
    try:
        variants.register(core, [bad])
    except variants.DeviceError as error:
        print(error)
"""
    )
    lines = child(code).splitlines()
    assert len(lines) == 3
    assert "no GPU.1" in lines[0]
    assert "real GPU" in lines[1]
    assert "A" in lines[2].split(": ")[-1]


@needs_runtime
def test_a_model_dropped_while_auto_compiles_it_does_not_hang():
    code = (
        """
from ovplace.devices import emulated_gpu, variants
emulated_gpu.enable()
"""
        + MODEL
        + """
core = ov.Core()
variants.register(core, [emulated_gpu.emulated_device()])
for _ in range(3):
    compiled = core.compile_model(model(), "AUTO:GPU,CPU", {})
    compiled(X)
    del compiled
print("done")
"""
    )
    assert child(code).strip() == "done"


@needs_runtime
@pytest.mark.parametrize(
    "before",
    [
        "import openvino",
        "import ctypes, importlib.util as u; "
        "ctypes.CDLL(u.find_spec('openvino').submodule_search_locations[0] + '/libs/libtbb.so.12')",
    ],
)
def test_too_late_is_refused(before):
    code = f"""
{before}
from ovplace.devices import emulated_gpu
from ovplace.errors import DeviceError
try:
    emulated_gpu.enable()
except DeviceError as error:
    print(error, emulated_gpu.is_enabled())
"""
    said = child(code)
    assert "new process" in said
    assert said.strip().endswith("False")


@needs_runtime
@pytest.mark.parametrize(("before", "made", "enabled"), [
    ("", "", True),
    ("", "dev/dxg", False),  # it might hide a GPU
    ("import openvino", "", False),  # too late, which whoever loads something on it is told
])  # fmt: skip
def test_it_is_enabled_where_no_gpu_is_and_it_still_can_be(tmp_path, before, made, enabled):
    if made:
        (tmp_path / made).parent.mkdir()
        (tmp_path / made).touch()
    code = f"""
{before}
from pathlib import Path
from ovplace.devices import discover, emulated_gpu
discover.emulate_where_no_gpu(Path({str(tmp_path)!r}))
print(emulated_gpu.is_enabled())
"""
    assert child(code).strip() == str(enabled)


@pytest.mark.skipif(sys.platform != "linux", reason="looks libraries up in /proc")
def test_asking_loads_nothing():
    code = """
import sys
from ovplace.devices import emulated_gpu, select, variants
emulated_gpu.why_unavailable()
print("openvino" in sys.modules, any("libOpenCL" in line for line in open("/proc/self/maps")))
"""
    assert child(code).split() == ["False", "False"]


def test_a_missing_library_is_one_line(monkeypatch):
    monkeypatch.setattr(emulated_gpu, "_find", lambda library: None)
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    said = emulated_gpu.why_unavailable()
    assert "\n" not in said
    assert "tbb" in said
    assert emulated_gpu.INSTALL in said
    with pytest.raises(DeviceError, match="intel-opencl-rt"):
        emulated_gpu.enable()
    assert not emulated_gpu.is_enabled()


@pytest.mark.parametrize(("system", "machine"), [("win32", "AMD64"), ("darwin", "arm64"), ("linux", "aarch64")])
def test_other_platforms_say_so(monkeypatch, system, machine):
    monkeypatch.setattr("sys.platform", system)
    monkeypatch.setattr("platform.machine", lambda: machine)
    assert "Linux on x86-64" in emulated_gpu.why_unavailable()


def test_where_it_cannot_be_loaded_the_environment_stays(monkeypatch, tmp_path):
    for name in ("why_unavailable", "_too_late"):
        monkeypatch.setattr(emulated_gpu, name, str)
    monkeypatch.setattr(emulated_gpu, "_path", lambda library: tmp_path / library)
    monkeypatch.setattr(emulated_gpu, "_alive", [])
    monkeypatch.setenv("OCL_ICD_VENDORS", "/etc/OpenCL/vendors")
    monkeypatch.delenv("OCL_ICD_FILENAMES", raising=False)
    with pytest.raises(DeviceError, match="cannot be loaded"):
        emulated_gpu.enable()
    assert os.environ["OCL_ICD_VENDORS"] == "/etc/OpenCL/vendors"
    assert "OCL_ICD_FILENAMES" not in os.environ


def test_device_is_f32_unless_said_otherwise():
    assert emulated_gpu.emulated_device().precision == "f32"
    assert emulated_gpu.emulated_device(properties={"INFERENCE_PRECISION_HINT": "f16"}).precision == "f16"
    assert emulated_gpu.emulated_device("GPU_A", properties={"NUM_STREAMS": "1"}).precision == "f32"
    assert emulated_gpu.emulated_device().emulated
    assert emulated_gpu.emulated_device().facts["full_name"].startswith("emulated GPU")
