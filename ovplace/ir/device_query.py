"""Asking a device which operations of a model it supports."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ovplace.core.device import Device

if TYPE_CHECKING:
    import openvino as ov


def supported_on(path: Path, device: Device) -> set[str]:
    """Return the friendly names of the operations that a device supports, in a process that has done nothing else.

    Args:
        path: a prepared model.
        device: the device; the emulated GPU is enabled for it.

    Raises:
        DeviceError: the device cannot be used.
    """
    if device.emulated:
        from ovplace.devices import emulated_gpu

        emulated_gpu.enable()  # before openvino is imported
    import openvino as ov

    from ovplace.devices.variants import register

    core = ov.Core()
    register(core, (device,))
    return query_support(core, core.read_model(path), device)


def query_support(core: ov.Core, model: ov.Model, device: Device) -> set[str]:
    """Return the friendly names of the operations that `device` supports; only the keys of the answer can be trusted.

    The GPU plugin answers under the name it was first used by, whichever alias is asked.

    Args:
        core: knows the device.
        model: the whole, read as `ir.read` numbers it.
        device: the device to ask.
    """
    from ovplace.devices.emulated_faults import is_faulty
    from ovplace.ir.bodies import nested
    from ovplace.ir.legal.support import supported_names

    known = supported_names(model, lambda part: set(core.query_model(part, device.name)))
    if device.emulated:
        known -= {op.get_friendly_name() for op in model.get_ops() if any(map(is_faulty, nested(op)))}
    return known
