"""The devices of this machine that OpenVINO finds."""

from __future__ import annotations

import re
import sys
from contextlib import suppress
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

NPU_TREATMENT = (
    "an NPU takes part only where -d names it, as in -d NPU,CPU: OpenVINO's documentation does not list it as usable "
    "under HETERO. It gets no operation that its plugin does not support; 'ovplace inspect MODEL' lists those"
)
"""The treatment of NPUs, for users."""


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


def intel_nodes(root: Path, pattern: str, kind: str) -> list[Path]:
    """Return the device nodes whose vendor is Intel; other vendors' GPUs and accelerators have nodes there too.

    Args:
        root: the root of the file system.
        pattern: pattern of the nodes' paths below `/dev`.
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
