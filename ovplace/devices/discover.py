"""The devices of this machine, and hints on how to make missing ones available."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ovplace.core.device import Device
from ovplace.devices import emulated_gpu
from ovplace.devices.variants import reason
from ovplace.errors import DeviceError

if TYPE_CHECKING:
    import openvino as ov

_PHYSICAL = re.compile(r"[A-Z]+(\.\d+)?")
"""Names OpenVINO gives itself; aliases registered in the Core, such as `CPU_BF16`, are listed among them."""

NPU_RELEASES = "https://github.com/intel/linux-npu-driver/releases"

NPU_TREATMENT = (
    "an NPU takes part only where -d names it, as in -d NPU,CPU: OpenVINO's documentation does not list it as usable "
    "under HETERO. It gets no operation that its plugin does not support; 'ovplace inspect MODEL' lists those"
)
"""How NPUs are treated, for users."""


@dataclass(frozen=True)
class Hint:
    """A missing device and how to make it available.

    Attributes:
        device: what is missing, such as `GPU`.
        text: why, and what to do.
    """

    device: str
    text: str


def discover(core: ov.Core) -> tuple[Device, ...]:
    """Return the physical devices OpenVINO lists, with facts; ask a Core in which no property has been set.

    A fact that cannot be read is left out. A device of which nothing can be read has the fact `problem`, the reason.
    """
    return tuple(_describe(core, name) for name in core.available_devices if _PHYSICAL.fullmatch(name))


def physical_devices() -> tuple[Device, ...]:
    """Return what `discover` finds with a Core of its own; never the emulated GPU, unless it is enabled here."""
    import openvino as ov

    return discover(ov.Core())


def emulate_where_no_gpu(root: Path = Path("/")) -> None:
    """Enable the emulated GPU in this process if that hides no GPU and still can be done.

    It comes too late once openvino is imported: what is found on it could then be loaded in another process only.

    Args:
        root: the root of the file system, another one in tests.
    """
    # Under WSL a GPU is behind /dev/dxg.
    might_hide = intel_nodes(root, "dri/renderD*", "drm") or (root / "dev/dxg").exists()
    if not might_hide and "openvino" not in sys.modules and not emulated_gpu.why_unavailable():
        with suppress(DeviceError):  # another library in the process comes in the way
            emulated_gpu.enable()


def missing(devices: Sequence[Device], root: Path = Path("/"), platform: str = sys.platform) -> tuple[Hint, ...]:
    """Return how to get the kinds of device that `devices` lack.

    Args:
        devices: what `discover` found.
        root: the root of the file system, another one in tests.
        platform: as `sys.platform`.
    """
    present = {device.plugin for device in devices if "problem" not in device.facts}
    hints = [_hint_gpu(root, platform), _hint_emulated()] if "GPU" not in present else []
    hints += [_hint_npu(root, platform)] if "NPU" not in present else []
    return tuple(hint for hint in hints if hint.text)


def _describe(core: ov.Core, name: str) -> Device:
    if name.startswith("GPU") and emulated_gpu.is_enabled():
        return emulated_gpu.emulated_device(name, name)
    try:
        facts = {"full_name": str(core.get_property(name, "FULL_DEVICE_NAME"))}
        keys = list(core.get_property(name, "SUPPORTED_PROPERTIES"))
    except Exception as error:  # a broken driver may raise anything; the other devices still count
        return Device(name, name, facts={"problem": reason(error)})
    wanted = {
        "capabilities": "OPTIMIZATION_CAPABILITIES",
        "default_precision": "INFERENCE_PRECISION_HINT",
        "kind": "DEVICE_TYPE",
        "driver": next((key for key in keys if key.endswith("DRIVER_VERSION")), ""),
    }
    for fact, key in wanted.items():
        facts[fact] = _read(core, name, key)
    if name == "CPU":
        facts["kind"] = "cpu"  # the plugin calls itself integrated
    return Device(name, name, facts={fact: text for fact, text in facts.items() if text})


def _read(core: ov.Core, name: str, key: str) -> str:
    try:
        return _text(core.get_property(name, key)) if key else ""
    except Exception:  # see _describe
        return ""


def _text(value: object) -> str:
    if isinstance(value, list | tuple | set | frozenset):
        return " ".join(sorted(map(str, value)))
    if hasattr(value, "get_type_name"):  # openvino.Type: `bf16`, where str() gives "<Type: 'bfloat16'>"
        return str(value.get_type_name())
    return str(getattr(value, "name", value)).lower()


def _hint_gpu(root: Path, platform: str) -> Hint:
    if platform == "win32":
        return Hint("GPU", "OpenVINO finds no Intel GPU; if there is one, install its graphics driver from intel.com")
    nodes = intel_nodes(root, "dri/renderD*", "drm")
    if platform != "linux" or not nodes:
        return Hint("GPU", "")
    if problem := _no_access(nodes):
        return Hint("GPU", problem)
    packages = "intel-opencl-icd on Debian and Ubuntu, intel-compute-runtime elsewhere"
    return Hint("GPU", f"{nodes[0]} is there but its OpenCL driver does not answer: install it ({packages})")


def _hint_npu(root: Path, platform: str) -> Hint:
    if platform == "win32":
        return Hint("NPU", "OpenVINO finds no Intel NPU; if there is one, its driver comes with Windows Update")
    nodes = intel_nodes(root, "accel/accel*", "accel")
    if platform != "linux" or not nodes:
        return Hint("NPU", "")
    if problem := _no_access(nodes):
        return Hint("NPU", problem)
    return Hint("NPU", f"{nodes[0]} is there but its driver does not answer: install it from {NPU_RELEASES}")


def _hint_emulated() -> Hint:
    return Hint("GPU (emulated)", emulated_gpu.why_unavailable())


def intel_nodes(root: Path, pattern: str, kind: str) -> list[Path]:
    """Return the device nodes whose vendor is Intel; other vendors' GPUs and accelerators have nodes there too.

    Args:
        root: the root of the file system.
        pattern: of the nodes, below `/dev`.
        kind: their folder in `/sys/class`.
    """
    known = root / "sys/class" / kind
    return [node for node in sorted((root / "dev").glob(pattern)) if is_intel(known / node.name / "device")]


def is_intel(device: Path) -> bool:
    """Return whether the vendor of a device is Intel.

    Args:
        device: its folder in `/sys`.
    """
    try:
        return (device / "vendor").read_bytes().strip() == b"0x8086"
    except OSError:
        return False


def _no_access(nodes: Sequence[Path]) -> str:
    """Return that none of the device nodes can be opened, and what mends it; empty where one can."""
    if any(os.access(node, os.R_OK | os.W_OK) for node in nodes):
        return ""
    return f"no permission to open {nodes[0]}: run 'sudo usermod -a -G render $USER' and log in again"
