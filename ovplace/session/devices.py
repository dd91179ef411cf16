"""The devices of a run: those to choose from, and identical aliases of them for the null control."""

from __future__ import annotations

from dataclasses import replace

from ovplace.config.schema import RunConfig
from ovplace.core.device import Device
from ovplace.devices.select import Selection, among, select
from ovplace.devices.variants import null_alias
from ovplace.errors import UsageError


def choose_devices(config: RunConfig) -> Selection:
    """Return the devices of a run: what `-d` says, or what the machine has, real or simulated.

    Raises:
        UsageError: the choice cannot be read, or does not fit a simulated machine.
        DeviceError: a device is not there.
    """
    backend = config.plugins.backend
    # A backend that stands for a machine of its own says what that machine has.
    own = backend.own_devices()
    if own is not None:
        return _simulated_devices(config, *own)
    from ovplace.devices import emulated_gpu
    from ovplace.devices.discover import physical_devices

    return select(
        config.search.device,
        config.devices,
        config.search.emulate_gpu,
        physical_devices(),
        emulated_gpu.why_unavailable(),
    )


def all_devices() -> tuple[Device, ...]:
    """Return every device of this machine, an NPU included, and the emulated GPU where there is no real one."""
    from ovplace.devices import emulated_gpu
    from ovplace.devices.discover import physical_devices

    physical = tuple(device for device in physical_devices() if not device.emulated)
    if any(device.plugin == "GPU" for device in physical) or emulated_gpu.why_unavailable():
        return physical
    return (*physical, emulated_gpu.emulated_device())


def null_aliases(selection: Selection) -> dict[str, Device]:
    """Return an identical alias of each device that can have one, by the device's name."""
    if selection.simulated:
        return {}
    aliases = ((device.name, null_alias(device)) for device in selection.devices)
    return {name: alias for name, alias in aliases if alias is not None}


def _simulated_devices(config: RunConfig, machine: str, devices: tuple[Device, ...]) -> Selection:
    if config.devices or config.search.emulate_gpu:
        said = "[devices]" if config.devices else "--emulate-gpu"
        raise UsageError(f"{said} is of real devices, and this run is on a simulated machine; leave one of them out")
    selection = among(config.search.device, machine, devices)
    if not config.search.input:
        return selection
    return replace(selection, note=f"{selection.note}, and the inputs are not read")
