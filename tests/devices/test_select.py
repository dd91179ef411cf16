"""Choosing devices, without any."""

import pytest

from ovplace.core.device import Device
from ovplace.devices.select import references, select
from ovplace.errors import DeviceError, UsageError

F32, BF16 = {"INFERENCE_PRECISION_HINT": "f32"}, {"INFERENCE_PRECISION_HINT": "bf16"}
CPU = Device("CPU", "CPU", facts={"capabilities": "BF16 FP32", "default_precision": "bf16", "kind": "cpu"})
PLAIN = Device("CPU", "CPU", facts={"capabilities": "FP32 INT8", "default_precision": "f32", "kind": "cpu"})
GPU = Device("GPU", "GPU", facts={"kind": "integrated"})
GPU0 = Device("GPU.0", "GPU.0", facts={"kind": "integrated"})
GPU1 = Device("GPU.1", "GPU.1", facts={"kind": "discrete"})
NPU = Device("NPU", "NPU")
NONE = "install it"


def names(selection):
    return [device.name for device in selection.devices]


def emulates(selection):
    return any(device.emulated for device in selection.devices)


def test_several_devices_come_as_they_are_accelerators_first():
    chosen = select("", {}, None, [CPU, GPU0, GPU1], "")
    assert names(chosen) == ["GPU.1", "GPU.0", "CPU"]
    assert not emulates(chosen)
    assert not any(device.properties for device in chosen.devices)


def test_npu_is_left_out_unless_named():
    chosen = select("", {}, None, [CPU, GPU, NPU], "")
    assert names(chosen) == ["GPU", "CPU"]
    assert "NPU" in chosen.note
    assert "NPU" in select("", {}, False, [CPU, NPU], NONE).note
    named = select("NPU,CPU", {}, None, [CPU, NPU], "")
    assert names(named) == ["NPU", "CPU"]
    assert "NPU" in named.note


def test_a_lone_cpu_gets_the_emulated_gpu_in_equal_precision():
    chosen = select("", {}, None, [CPU], "")
    assert names(chosen) == ["GPU", "CPU"]
    assert [device.emulated for device in chosen.devices] == [True, False]
    assert {device.precision for device in chosen.devices} == {"f32"}
    assert "no GPU found" in chosen.note
    assert "emulated" in chosen.note


@pytest.mark.parametrize(("emulate", "problem"), [(None, NONE), (False, "")])
def test_a_lone_cpu_without_emulation_gets_precisions(emulate, problem):
    chosen = select("", {}, emulate, [CPU], problem)
    assert names(chosen) == ["CPU_BF16", "CPU_F32"]
    assert not emulates(chosen)
    assert problem in chosen.note
    arm = Device("CPU", "CPU", facts={"capabilities": "FP16 FP32"})
    assert names(select("", {}, emulate, [arm], problem)) == ["CPU_F16", "CPU_F32"]


def test_nothing_to_vary_is_said():
    chosen = select("", {}, None, [PLAIN], NONE)
    assert names(chosen) == ["CPU"]
    assert "nothing to choose" in chosen.note


def test_a_broken_device_is_no_default_and_named_says_why():
    broken = Device("GPU", "GPU", facts={"problem": "driver too old"})
    assert emulates(select("", {}, None, [CPU, broken], ""))
    with pytest.raises(DeviceError, match="driver too old"):
        select("GPU,CPU", {}, False, [CPU, broken], "")
    with pytest.raises(DeviceError, match="no device"):
        select("", {}, None, [broken], NONE)


@pytest.mark.parametrize("text", ["", "GPU,CPU", "HETERO:GPU,CPU"])
def test_a_real_gpu_is_emulated_only_when_asked(text):
    assert not emulates(select(text, {}, None, [CPU, GPU], ""))
    chosen = select(text, {}, True, [CPU, GPU], "")
    assert chosen.devices[0].emulated
    assert "hides GPU" in chosen.note


def test_named_gpu_is_emulated_where_there_is_none():
    chosen = select("GPU_A=GPU,CPU", {}, None, [CPU], "")
    assert chosen.devices[0].emulated
    assert chosen.devices[0].properties == F32
    assert "makes them equal" in chosen.note
    assert "NaN" in select("GPU{INFERENCE_PRECISION_HINT:f16}", {}, None, [CPU], "").note
    assert not emulates(select("CPU", {}, None, [CPU], ""))
    assert "not used" in select("CPU", {}, True, [CPU], "").note


@pytest.mark.parametrize(
    ("text", "emulate", "problem", "said"),
    [
        ("GPU", None, NONE, NONE),
        ("GPU", False, "", "switched off"),
        ("GPU.1,CPU", None, "", "only GPU"),
        ("NPU", None, "", "devices: CPU"),
        ("CPU_X", None, "", "CPU_X=CPU"),
        ("cpu", None, "", "capitals"),
        ("CPU", True, NONE, NONE),
    ],
)
def test_what_is_not_there_is_refused(text, emulate, problem, said):
    with pytest.raises(DeviceError, match=said):
        select(text, {}, emulate, [CPU], problem)


def test_emulation_hides_other_real_gpus():
    with pytest.raises(DeviceError, match="only GPU"):
        select("GPU.1", {}, True, [CPU, GPU0, GPU1], "")


def test_gpu_and_gpu_0_are_one():
    assert select("GPU", {}, None, [CPU, GPU0, GPU1], "").devices[0].facts == GPU0.facts
    assert select("GPU.0", {}, None, [CPU, GPU], "").devices[0].facts == GPU.facts


def test_tables_define_devices():
    tables = {"CPU_A": {"base": "CPU", "properties": F32}, "CPU_B": {"base": "CPU"}}
    assert names(select("", tables, None, [CPU], "")) == ["CPU_A", "CPU_B"]
    chosen = select("CPU_A", tables, None, [CPU], "")
    assert chosen.devices[0].properties == F32
    assert chosen.devices[0].facts == CPU.facts
    differing = {**tables, "CPU_B": {"base": "CPU", "properties": {"NUM_STREAMS": 2}}}
    with pytest.raises(UsageError, match="NUM_STREAMS"):
        select("CPU_A,CPU_B", differing, None, [CPU], "")


def test_references_are_what_a_device_does_when_left_alone():
    chosen = select("", {}, None, [CPU], "").devices
    (reference,) = references(chosen)
    assert (reference.name, reference.base, dict(reference.properties)) == ("CPU_DEFAULT", "CPU", {})
    assert references([CPU]) == ()
    assert references([Device("CPU_A", "CPU", BF16, CPU.facts), Device("CPU_B", "CPU", F32, CPU.facts)]) == ()
    assert references([Device("CPU", "CPU", F32, PLAIN.facts)]) == ()
    assert [d.name for d in references([Device("GPU.1", "GPU.1", F32)])] == ["GPU1_DEFAULT"]
