"""The doctor finds what is there but invisible on machines made of folders, and says what fixes it."""

import os

import openvino
import pytest

from ovplace.core.device import Device
from ovplace.devices import emulated_gpu
from ovplace.devices.doctor import Host, examine

CPU = Device("CPU", "CPU", facts={"full_name": "a processor"})
LIB = "usr/lib/x86_64-linux-gnu"


@pytest.fixture
def machine(tmp_path):
    """Return a function that makes a machine of files, given by path and content."""

    def make(platform="linux", groups=(), processor="x86_64", version="2026.4.1-1-abc", **files):
        for path, content in files.pop("files", {}).items():
            target = tmp_path / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(content)
        return Host(tmp_path, platform, tmp_path / "openvino", version, groups, processor)

    return make


def about(machine, subject, devices=(CPU,)):
    return next(finding for finding in examine(devices, machine) if finding.subject == subject)


GPU_NODE = {"dev/dri/renderD128": "", "sys/class/drm/renderD128/device/vendor": "0x8086\n"}
GPU_ON_PCI = {"sys/bus/pci/devices/0/vendor": "0x8086\n", "sys/bus/pci/devices/0/class": "0x030000\n"}
NPU_NODE = {"dev/accel/accel0": "", "sys/class/accel/accel0/device/vendor": "0x8086\n"}
NPU_ON_PCI = {"sys/bus/pci/devices/1/vendor": "0x8086\n", "sys/bus/pci/devices/1/class": "0x120000\n"}
WSL = {"proc/version": "Linux version 6 (Microsoft) WSL2"}
APT = {"usr/bin/apt": ""}
LOADER = {f"{LIB}/libOpenCL.so.1": ""}
DRIVER = {"etc/OpenCL/vendors/intel.icd": f"/{LIB}/libigdrcl.so\n", f"{LIB}/libigdrcl.so": ""}


def test_what_openvino_sees_is_said_first(machine):
    found = examine([CPU, Device("GPU", "GPU", facts={"full_name": "Arc", "driver": "1.2"})], machine())
    assert [f.text for f in found[1:3]] == ["OpenVINO sees CPU: a processor", "OpenVINO sees GPU: Arc, driver 1.2"]
    assert all(f.subject != "GPU" for f in found[3:])


def test_openvino_is_new_enough(machine, tmp_path):
    found = about(machine(), "OpenVINO")
    assert (found.good, found.text) == (True, f"OpenVINO 2026.4.1 in {tmp_path / 'openvino'}")


def test_an_older_openvino_is_replaced(machine, tmp_path):
    found = about(machine(version="2025.4.1-20426-82bbf0292c5-releases/2025/4"), "OpenVINO")
    assert (found.good, found.command) == (False, "pip install --upgrade 'openvino>=2026.4'")
    assert found.text == f"OpenVINO 2025.4.1 in {tmp_path / 'openvino'} is older than what ovplace is made for"


def test_a_device_that_does_not_answer(machine):
    found = about(machine(), "GPU", [CPU, Device("GPU", "GPU", facts={"problem": "context lost"})])
    assert (found.good, found.text) == (False, "OpenVINO lists GPU, but it does not answer: context lost")


def test_nothing_to_mend(machine):
    made = machine()
    assert about(made, "GPU").text == "there is no Intel GPU in this machine"
    assert about(made, "NPU").good
    assert all(finding.good or finding.subject == "emulated GPU" for finding in examine([CPU], made))


@pytest.mark.parametrize(("processor", "command"), [("x86_64", "pip install 'ovplace[emulated-gpu]'"), ("aarch64", "")])
def test_the_emulated_gpu_is_to_be_installed_where_it_can_run(machine, monkeypatch, processor, command):
    monkeypatch.setattr(emulated_gpu, "_find", lambda _: None)
    monkeypatch.setattr("platform.machine", lambda: processor)
    found = about(machine(), "emulated GPU")
    assert (found.good, found.command) == (False, command)


@pytest.mark.parametrize(
    ("files", "said", "command"),
    [
        (GPU_ON_PCI, "no /dev/dri: its kernel driver is not loaded", "sudo modprobe xe || sudo modprobe i915"),
        (GPU_ON_PCI | {".dockerenv": ""}, "this container was not given /dev/dri", "docker run --device /dev/dri ..."),
        (GPU_NODE | APT, "libOpenCL.so.1 is not installed", "sudo apt install ocl-icd-libopencl1"),
        (GPU_NODE | APT | LOADER, "OpenCL driver is not installed", "sudo apt install intel-opencl-icd"),
        (GPU_NODE | {"usr/bin/dnf": ""} | LOADER, "is not installed", "sudo dnf install intel-compute-runtime"),
        (GPU_NODE | LOADER, "is not installed", ""),
        (
            GPU_NODE | APT | LOADER | {"etc/OpenCL/vendors/intel.icd": f"/{LIB}/libigdrcl.so\n"},
            f"/{LIB}/libigdrcl.so is missing",
            "sudo apt install intel-opencl-icd",
        ),
        (GPU_NODE | APT | LOADER | DRIVER, "too old", "sudo apt install intel-opencl-icd"),
        (
            {"proc/version": "Linux Microsoft WSL2"},
            "Windows gives it no GPU",
            "wsl.exe --update && wsl.exe --shutdown",
        ),
        (
            {"proc/version": "Linux microsoft", "dev/dxg": ""},
            "Windows' GPU driver is not mounted",
            "wsl.exe --shutdown",
        ),
        (
            {"proc/version": "microsoft", "dev/dxg": "", "usr/lib/wsl/lib/libdxcore.so": ""} | APT | LOADER,
            "/dev/dxg is there, but Intel's OpenCL driver",
            "sudo apt install intel-opencl-icd",
        ),
    ],
)
def test_an_invisible_gpu(machine, files, said, command):
    found = about(machine(files=files), "GPU")
    assert not found.good
    assert said in found.text
    assert found.command == command


@pytest.mark.parametrize(
    ("files", "said", "command"),
    [
        (NPU_ON_PCI, "no /dev/accel: its kernel driver is not loaded", "sudo modprobe intel_vpu"),
        (NPU_NODE, "libze_intel_npu.so is not installed", ""),
        (NPU_NODE | {f"{LIB}/libze_intel_npu.so.1": ""}, "too old", ""),
    ],
)
def test_an_invisible_npu(machine, files, said, command):
    found = about(machine(files=files), "NPU")
    assert (found.good, found.command) == (False, command)
    assert said in found.text


def test_another_vendors_gpu_is_none(machine):
    files = {"dev/dri/renderD128": "", "sys/class/drm/renderD128/device/vendor": "0x10de\n"}
    assert about(machine(files=files), "GPU").good


@pytest.mark.parametrize("member", [False, True])
def test_a_closed_node_names_its_group(machine, monkeypatch, tmp_path, member):
    monkeypatch.setattr(os, "access", lambda *_: False)
    monkeypatch.setenv("USER", "ann")
    made = machine(files=GPU_NODE)
    number = (tmp_path / "dev/dri/renderD128").stat().st_gid
    made = machine(files={"etc/group": f"video:x:44:\nrender7:x:{number}:{'bob,ann' if member else 'bob'}\n"})
    found = about(made, "GPU")
    assert "no permission to open /dev/dri/renderD128" in found.text
    assert found.command == ("newgrp render7" if member else "sudo usermod -a -G render7 $USER")


def test_a_user_without_a_name_is_in_no_group(machine, monkeypatch, tmp_path):
    monkeypatch.setattr(os, "access", lambda *_: False)
    monkeypatch.delenv("USER", raising=False)  # as in a container that was started with a user's number
    machine(files=GPU_NODE)
    number = (tmp_path / "dev/dri/renderD128").stat().st_gid
    found = about(machine(files={"etc/group": f"render:x:{number}:\n"}), "GPU")
    assert found.command == "sudo usermod -a -G render $USER"


def test_a_missing_plugin(machine):
    made = machine(
        files={f"openvino/libs/libopenvino_intel_{plugin}_plugin.so": "" for plugin in ("cpu", "gpu")},
    )
    found = about(made, "plugins")
    assert "has no NPU plugin" in found.text
    assert found.command == "pip install --force-reinstall openvino"


@pytest.mark.parametrize(
    ("platform", "processor", "plugin"),
    [("linux", "aarch64", "arm_cpu"), ("darwin", "arm64", "arm_cpu"), ("darwin", "x86_64", "intel_cpu")],
)
def test_openvino_has_plugins_for_gpu_and_npu_on_x86_64_only_and_not_for_macos(machine, platform, processor, plugin):
    made = machine(platform, processor=processor, files={f"openvino/libs/libopenvino_{plugin}_plugin.so": ""})
    assert all(finding.subject != "plugins" for finding in examine([CPU], made))


def test_a_missing_plugin_for_the_cpu_is_found_on_arm(machine):
    found = about(machine(processor="aarch64", files={"openvino/libs/libopenvino_auto_plugin.so": ""}), "plugins")
    assert "has no CPU plugin" in found.text


def test_windows_has_no_device_files(machine):
    assert "graphics driver is missing" in about(machine("win32"), "GPU").text


def test_the_command_says_what_it_finds_here(capfd):
    import json

    from ovplace.cli import main

    with pytest.raises(SystemExit) as end:
        main(["doctor", "--json"])
    found = json.loads(capfd.readouterr().out)
    assert end.value.code == 0
    assert [finding["text"].split(" in ")[0].split(":")[0] for finding in found[:2]] == [
        f"OpenVINO {openvino.__version__.split('-')[0]}",
        "OpenVINO sees CPU",
    ]
