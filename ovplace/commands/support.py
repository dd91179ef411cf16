"""What each device says it can run of a model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ovplace.core.device import Device
from ovplace.errors import OvplaceError
from ovplace.graphs.op_graph import BoolArray, OpGraph
from ovplace.graphs.op_kinds import FREE
from ovplace.ir.device_query import supported_on
from ovplace.measuring.isolated_call import isolated_call
from ovplace.session.devices import all_devices


@dataclass(frozen=True)
class DeviceSupport:
    """What a device can run of a model, as its plugin reports it.

    Attributes:
        name: the device.
        emulated: whether it is the emulated GPU.
        computing: operations of the model that compute: all but Parameters, Constants and Results.
        supported: how many of them the device supports.
        unsupported: how many of each type it does not support, most frequent first.
        problem: why the device could not be asked; empty otherwise.
    """

    name: str
    emulated: bool
    computing: int
    supported: int
    unsupported: Mapping[str, int]
    problem: str = ""


def device_support(graph: OpGraph, devices: Sequence[Device], supported: BoolArray) -> tuple[DeviceSupport, ...]:
    """Return what each device supports.

    Args:
        graph: the prepared model.
        devices: the devices, D of them.
        supported: which device supports which operation, `[N, D]`.
    """
    # Plugins leave the others out where nothing that they support reads or writes them.
    computing = np.array([kind not in FREE for kind in graph.types], dtype=bool)
    found = []
    for device, able in zip(devices, supported.T, strict=True):
        missing = Counter(graph.types[i] for i in np.flatnonzero(computing & ~able))
        n = int(computing.sum())
        found.append(DeviceSupport(device.name, device.emulated, n, n - missing.total(), dict(missing.most_common())))
    return tuple(found)


def ask_devices(graph: OpGraph, model: Path) -> tuple[DeviceSupport, ...]:
    """Return what each device of this machine can run of a prepared model, each asked in a process of its own.

    Args:
        graph: the model's operations.
        model: its file.
    """
    return tuple(_asked(graph, model, device) for device in all_devices())


def _asked(graph: OpGraph, model: Path, device: Device) -> DeviceSupport:
    try:
        names = isolated_call(f"asking {device.name} what it supports", supported_on, model, device)
    except OvplaceError as error:
        return DeviceSupport(device.name, device.emulated, 0, 0, {}, str(error))
    able = np.array([[name in names] for name in graph.names], dtype=bool)
    return device_support(graph, (device,), able)[0]
