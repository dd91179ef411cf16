"""Calls that register the devices of a placement in OpenVINO before a program compiles it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import openvino as ov

from ovplace.core.device import Device
from ovplace.devices.variants import library, properties
from ovplace.errors import DeviceError
from ovplace.ir.exceptions import last_line


@dataclass(frozen=True)
class Step:
    """One device that is not simply there.

    Attributes:
        name: its name.
        library: the plugin to register under that name, "" where the name is OpenVINO's own.
        properties: what to set on it, key to value as text.
    """

    name: str
    library: str
    properties: dict[str, str]

    def calls(self) -> Iterator[str]:
        """Yield the lines of Python that do it."""
        if self.library:
            yield f"core.register_plugin({self.library!r}, {self.name!r})"
        if self.properties:
            yield f"core.set_property({self.name!r}, {self.properties!r})"


def steps(devices: Sequence[Device]) -> list[Step]:
    """Return what to do for those devices that need anything.

    Raises:
        DeviceError: this OpenVINO has no plugin for one of them.
    """
    core = ov.Core()
    try:
        found = [Step(d.name, library(core, d.plugin) if d.is_variant else "", properties(d)) for d in devices]
    except RuntimeError as error:
        raise DeviceError(
            f"{last_line(error)} in this OpenVINO; export the run on the machine that it is of"
        ) from error
    return [step for step in found if step.library or step.properties]


def target_text(devices: Sequence[str]) -> str:
    """Return the device text to compile for."""
    used = sorted(devices)
    return used[0] if len(used) == 1 else f"HETERO:{','.join(used)}"
