"""A machine of a fleet, and which machines are alike: the device classes that requests are routed by."""

from __future__ import annotations

import platform
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from typing import Any

from ovplace.core.device import Device
from ovplace.devices.select import Selection
from ovplace.errors import UsageError
from ovplace.version import __version__

_NAME = re.compile(r"[\w.-]{1,64}", re.ASCII)

_TELLING = ("full_name", "driver", "capabilities", "default_precision")
"""Facts of a device in which like devices agree."""


@dataclass(frozen=True)
class Machine:
    """What a machine has, as its worker says.

    Attributes:
        name: its name, unique in the fleet.
        devices: physical devices, and the emulated GPU where it can be had.
        emulation_problem: why it has no emulated GPU; empty where it has.
        versions: of ovplace and OpenVINO, by name.
    """

    name: str
    devices: tuple[Device, ...] = ()
    emulation_problem: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check the name, which is shown to users of other machines.

        Raises:
            UsageError: it holds other characters than those of host names.
        """
        if not _NAME.fullmatch(self.name):
            raise UsageError(
                f"'{self.name}' cannot name a machine; choose a --name of letters, digits, '.', '_' and '-'"
            )

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, the inverse of `from_dict`."""
        return {
            "name": self.name,
            "devices": [device.to_dict() for device in self.devices],
            "emulation_problem": self.emulation_problem,
            "versions": dict(self.versions),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Machine:
        """Build a machine from what `to_dict` returned.

        Raises:
            Exception: the data are of no machine.
        """
        return cls(
            str(data["name"]),
            tuple(Device.from_dict(device) for device in data["devices"]),
            str(data["emulation_problem"]),
            {str(key): str(value) for key, value in data["versions"].items()},
        )


@dataclass(frozen=True)
class DeviceClass:
    """What machines must have in common for their measurements to be of one run.

    Attributes:
        versions: of ovplace, and of OpenVINO where it runs.
        devices: base, whether it is emulated, and the telling facts, of each device of the run.
    """

    versions: Mapping[str, str]
    devices: tuple[tuple[str, ...], ...] = ()

    def has(self, machine: Machine) -> bool:
        """Return whether a machine is of the class."""
        same = all(machine.versions.get(name) == version for name, version in self.versions.items())
        return same and set(self.devices) <= {_traits(device) for device in machine.devices}

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, the inverse of `from_dict`."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> DeviceClass:
        """Build a class from what `to_dict` returned.

        Raises:
            Exception: the data are of no class.
        """
        return cls(dict(data["versions"]), tuple(tuple(map(str, device)) for device in data["devices"]))


def simulated_class() -> DeviceClass:
    """Return the class of all machines that can simulate one: those with this version of ovplace."""
    return DeviceClass({"ovplace": __version__})


def class_of(machine: Machine, selection: Selection) -> DeviceClass:
    """Return the class of a machine, as far as the devices of a run go.

    Args:
        machine: one that has the devices.
        selection: the devices of the run.
    """
    used = {(_whole(device.base), device.emulated) for device in selection.devices}
    own = [device for device in machine.devices if (_whole(device.base), device.emulated) in used]
    return DeviceClass(dict(machine.versions), tuple(sorted(_traits(device) for device in own)))


def this_machine(name: str = "") -> Machine:
    """Return the machine on which this process runs.

    Args:
        name: its name in the fleet; that of the host by default.
    """
    from ovplace.devices import emulated_gpu
    from ovplace.devices.discover import physical_devices

    problem = emulated_gpu.why_unavailable()
    emulated: Sequence[Device] = () if problem else (emulated_gpu.emulated_device(),)
    versions = {"ovplace": __version__, "openvino": version("openvino")}
    physical = tuple(device for device in physical_devices() if not device.emulated)
    return Machine(name or platform.node(), (*physical, *emulated), problem, versions)


def _whole(base: str) -> str:
    """Return the name of a device with its id, which OpenVINO leaves out where there is one of the kind."""
    return base.removesuffix(".0")


def _traits(device: Device) -> tuple[str, ...]:
    return (_whole(device.base), str(device.emulated), *(device.facts.get(fact, "") for fact in _TELLING))
