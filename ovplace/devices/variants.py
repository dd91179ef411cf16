"""Make OpenVINO know the devices of a run: names, ids, properties.

An alias is the same plugin library registered under a second name, as `<plugins>` entries of a plugins.xml do
(OpenVINO `src/inference/src/dev/core_impl.cpp`). Properties are set on the Core (`Core.set_property`), not given to
`compile_model`: set there, a whole compilation, HETERO and `query_model` all honour them without being told again.
`DEVICE_PROPERTIES` at compile time works too, but every call has to repeat it. A property given flat to
`compile_model(..., "HETERO:...", {...})` overrides what is set here for every device, so give none that way.
Run on openvino 2026.4.1: aliases in bf16 and f32 under one HETERO model run in bf16 and f32.

The GPU plugin answers `query_model` with the name under which the process first used it (`GPU_A.0` for `GPU` too, where
`GPU_A` came first). So HETERO left to choose by itself runs the share of every GPU name on that first one, with its
properties; with an affinity on every operation it keeps them apart. Of `query_model`'s answer for one GPU name, only
the keys count.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ovplace.core.device import Device
from ovplace.devices import emulated_gpu
from ovplace.errors import DeviceError

if TYPE_CHECKING:
    import openvino as ov

_UNNAMED = {"GPU": "openvino_intel_gpu_plugin"}
"""Libraries of plugins whose version does not tell: the GPU plugin's says 'Intel GPU plugin'."""


def register(core: ov.Core, devices: Sequence[Device]) -> None:
    """Register the aliases among `devices` in `core` and set everybody's properties.

    May be called again with the same devices. Properties cannot be unset: a name means one thing in a Core.

    Args:
        core: the core that compiles the run's models.
        devices: devices and variants of the run.

    Raises:
        DeviceError: the device is not on this machine, is not what it says it is (emulated or real), or its plugin
            refuses a property.
    """
    for device in devices:
        _check_kind(device)
        try:
            _register(core, device)
        except RuntimeError as error:
            wanted = ", ".join(f"{key}:{value}" for key, value in device.properties.items()) or "no properties"
            raise DeviceError(
                f"OpenVINO refuses device '{device.name}' ({device.base} with {wanted}): "
                f"{_absence(core, device) or reason(error)}; "
                "see 'ovplace devices'"
            ) from error


def alias_name(name: str, suffix: str) -> str:
    """Return the name of an alias of `name`; OpenVINO allows no dot in one, `GPU.1` becomes `GPU1_<suffix>`.

    Args:
        name: a device name such as `CPU` or `GPU.1`.
        suffix: text that tells the alias from others, such as `BF16`.
    """
    return f"{name.replace('.', '')}_{suffix}"


def null_alias(device: Device) -> Device | None:
    """Return an identical device under another name, for the null control; None where none can be made.

    The CPU and the GPU plugin run under two names at once; no other plugin is known to.
    """
    if device.plugin not in ("CPU", "GPU"):
        return None
    name = alias_name(device.name, "NULL")
    return Device(name, device.base, device.properties, device.facts, device.emulated)


def reason(error: Exception) -> str:
    """Return the telling line of an OpenVINO exception, which stands behind lines of source positions."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    telling = [line for line in lines if not line.startswith(("Exception from", "Check '"))]
    return next(iter(telling or reversed(lines)), type(error).__name__)


def properties(device: Device) -> dict[str, str]:
    """Return what has to be set on a device."""
    wanted = dict(device.properties)
    if device.is_variant and "." in device.base:
        # The GPU plugin makes this its default device (intel_gpu `src/plugin/plugin.cpp`, Plugin::set_property).
        wanted["DEVICE_ID"] = device.base.split(".")[1]
    return wanted


def library(core: ov.Core, plugin: str) -> str:
    """Return the plugin's library, which OpenVINO completes to the platform's file name.

    Most plugins call their version by it: `openvino_intel_cpu_plugin`, or `openvino_arm_cpu_plugin` on ARM.

    Args:
        core: a core that knows the plugin.
        plugin: a base device name such as `CPU`.

    Raises:
        RuntimeError: OpenVINO has no such plugin.
    """
    if plugin in _UNNAMED:  # also where the plugin cannot be loaded, as to export for another machine
        return _UNNAMED[plugin]
    versions = core.get_versions(plugin)
    if plugin not in versions:
        raise RuntimeError(f"there is no plugin for {plugin}")
    return str(versions[plugin].description)


def _register(core: ov.Core, device: Device) -> None:
    if device.is_variant and device.name not in core.get_versions(device.name):
        core.register_plugin(library(core, device.plugin), device.name)
    # Asking loads the plugin and fails without the device; before that, set_property takes any key and value.
    core.get_property(device.name, "FULL_DEVICE_NAME")
    if wanted := properties(device):
        core.set_property(device.name, wanted)


def is_listed(core: ov.Core, device: Device) -> bool:
    """Return whether OpenVINO lists a device, by whichever of its names: a single GPU is `GPU` and `GPU.0`.

    Args:
        core: any core.
        device: for a variant its base device counts.
    """
    listed = [name.removesuffix(".0") for name in core.available_devices]
    return any(name.split(".")[0] == device.base for name in listed) or device.base.removesuffix(".0") in listed


def _absence(core: ov.Core, device: Device) -> str:
    """Return that there is no such device, which the plugins say in unhelpful words (`map::at`), or ""."""
    return "" if is_listed(core, device) else f"OpenVINO finds no {device.base} here"


def _check_kind(device: Device) -> None:
    if device.plugin != "GPU" or device.emulated == emulated_gpu.is_enabled():
        return
    if device.emulated:
        raise DeviceError(f"device '{device.name}' is the emulated GPU, which this process has not enabled")
    raise DeviceError(f"device '{device.name}' is a real GPU, but this process emulates one; start a new process")
