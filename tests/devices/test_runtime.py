"""Discovery and aliases against the installed OpenVINO and against fakes."""

import numpy as np
import openvino as ov
import pytest
from openvino import opset13 as ops

from ovplace.core.device import Device
from ovplace.devices import discover, variants
from ovplace.errors import DeviceError

PRECISION = "INFERENCE_PRECISION_HINT"


def chain():
    """Return a chain of two matrix products."""
    node = x = ops.parameter([4, 64], np.float32, name="x")
    for i in range(2):
        weight = np.random.default_rng(i).normal(size=(64, 64)).astype(np.float32)
        node = ops.matmul(node, ops.constant(weight, name=f"w{i}"), False, False, name=f"m{i}")
    return ov.Model([ops.result(node, name="out")], [x], "chain")


def precisions(compiled):
    """Return the precision each device of a HETERO model was compiled for."""
    found = compiled.get_property("DEVICE_PROPERTIES")
    return {name: values[PRECISION].get_type_name() for name, values in found.items()}


def place(model, table):
    for op in model.get_ops():
        op.get_rt_info()["affinity"] = table(op.get_friendly_name())
    return model


def low_precision(cpu):
    return next((p for c, p in (("BF16", "bf16"), ("FP16", "f16")) if c in cpu.facts["capabilities"].split()), "f32")


def test_discovers_the_cpu_and_no_aliases():
    core = ov.Core()
    cpu = next(device for device in discover.discover(core) if device.name == "CPU")
    assert cpu.facts["full_name"]
    assert cpu.facts["kind"] == "cpu"
    assert "FP32" in cpu.facts["capabilities"].split()
    assert cpu.facts["default_precision"] in ("f32", "bf16", "f16")
    variants.register(core, [Device("CPU_A", "CPU")])
    assert "CPU_A" in core.available_devices
    assert "CPU_A" not in [device.name for device in discover.discover(core)]


def test_aliases_keep_their_properties_whole_and_under_hetero():
    core = ov.Core()
    low = low_precision(next(device for device in discover.discover(core) if device.name == "CPU"))
    wanted = {"CPU_LOW": low, "CPU_F32": "f32", "CPU": "f32"}
    devices = [Device(name, "CPU", {PRECISION: precision}) for name, precision in wanted.items()]
    variants.register(core, devices)
    variants.register(core, devices)
    for name, precision in wanted.items():
        assert core.compile_model(chain(), name).get_property(PRECISION).get_type_name() == precision
        assert precisions(core.compile_model(chain(), f"HETERO:{name}")) == {name: precision}
    mixed = place(chain(), lambda op: "CPU_LOW" if op in ("x", "w0", "m0") else "CPU_F32")
    assert precisions(core.compile_model(mixed, "HETERO:CPU_LOW,CPU_F32")) == {"CPU_LOW": low, "CPU_F32": "f32"}


def test_the_null_alias_computes_the_same():
    core = ov.Core()
    device = Device("CPU_F32", "CPU", {PRECISION: "f32"})
    null = variants.null_alias(device)
    assert null is not None
    variants.register(core, [device, null])
    x = np.random.default_rng(2).normal(size=(4, 64)).astype(np.float32)
    split = place(chain(), lambda op: device.name if op in ("x", "w0", "m0") else null.name)
    got, want = (
        core.compile_model(split, f"HETERO:{device.name},{null.name}")(x)[0],
        core.compile_model(chain(), device.name)(x)[0],
    )
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-4)
    assert variants.null_alias(Device("NPU", "NPU")) is None
    assert variants.null_alias(Device("GPU.1", "GPU.1")).name == "GPU1_NULL"


@pytest.mark.parametrize(
    ("device", "said"),
    [
        (Device("CPU_A", "CPU", {"FOO": "1"}), "FOO"),
        (Device("CPU", "CPU", {PRECISION: "i3"}), "i3"),
        (Device("ZPU", "ZPU"), "no ZPU"),
        (Device("ZPU_A", "ZPU"), "no ZPU"),
        (Device("GPU", "GPU", emulated=True), "not enabled"),
    ],
)
def test_what_openvino_refuses_is_one_line(device, said):
    with pytest.raises(DeviceError, match=said) as caught:
        variants.register(ov.Core(), [device])
    assert "\n" not in str(caught.value)


class FakeCore:
    """A Core whose answers are a table; what is not in it throws."""

    def __init__(self, table):
        self.table = table
        self.available_devices = list(table)

    def get_property(self, name, key):
        if key not in self.table[name]:
            raise RuntimeError("Exception from a.cpp:1:\nno such property\n")
        return self.table[name][key]


def test_a_throwing_property_is_left_out_and_a_throwing_device_is_reported():
    kind = ov.Core().get_property("CPU", "DEVICE_TYPE")
    npu = {"FULL_DEVICE_NAME": "Boost", "SUPPORTED_PROPERTIES": {"NPU_DRIVER_VERSION": "RO"}, "DEVICE_TYPE": kind}
    found = discover.discover(FakeCore({"NPU": {**npu, "NPU_DRIVER_VERSION": 17}, "GPU.1": {}}))
    assert dict(found[0].facts) == {"full_name": "Boost", "driver": "17", "kind": "integrated"}
    assert dict(found[1].facts) == {"problem": "no such property"}


def test_the_library_of_the_gpu_plugin_is_known_where_the_plugin_cannot_be_loaded(monkeypatch):
    core = ov.Core()
    monkeypatch.setattr(ov.Core, "get_versions", lambda *_: pytest.fail("it would be loaded"))
    assert variants.library(core, "GPU") == "openvino_intel_gpu_plugin"
