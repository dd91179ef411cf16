"""Rules by which ONNX Runtime places the nodes of an ONNX model, by parts of their names.

Source: ONNX Runtime 1.32, `session.name_based_layer_assignment` (pull request 28903,
`onnxruntime/core/framework/layering_annotations.cc`): `device(part, part); device(part)`. The longest part that occurs
in a node's name decides; there are no quotes, so `(`, `)`, `,` and `;` cannot be written; a value has at most 8192
bytes. Prefixes that several operations share keep the text short.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from os.path import commonprefix
from pathlib import Path
from typing import ClassVar

import openvino as ov

from ovplace.core.device import Device
from ovplace.exporters._limits import emulated_only_in_python, unregistered
from ovplace.exporters._node_names import named_nodes
from ovplace.ir.placed_model import read_placed
from ovplace.plugins import protocols

SUMMARY = "rules for ONNX Runtime, part of a name to device, as JSON of session options"

KEY = "session.name_based_layer_assignment"
MAX_BYTES = 8192
"""Longest value of a session option that ONNX Runtime 1.32 takes."""


@dataclass(frozen=True)
class Config:
    """There is nothing to set."""


class Exporter(protocols.TextExporter):
    """Writes one session option: `options.add_session_config_entry(key, value)` for each pair of the object."""

    target: ClassVar[str] = "onnxruntime.json"

    def text(self, folder: Path) -> str:
        """Return the session option for the placement of `folder`."""
        found = read_placed(ov.Core(), folder)
        value = _value(named_nodes(folder, found).names, found.devices)
        return json.dumps({KEY: value}, ensure_ascii=False, indent=0) + "\n"

    def limits(self, folder: Path) -> tuple[str, ...]:
        """Return what ONNX Runtime cannot be told of the placement.

        Raises:
            ModelError: the placed model cannot be read.
            PlacementError: the files do not belong together.
            StoreError: the result of the run cannot be read.
        """
        found = read_placed(ov.Core(), folder)
        named = named_nodes(folder, found)
        of_devices = unregistered(found.devices, "ONNX Runtime") + emulated_only_in_python(found.devices)
        return (*of_devices, *named.limits, *_unsaid(named.names), *_too_long(_value(named.names, found.devices)))

    def next_step(self, run: str, written: Sequence[Path]) -> str:
        """Return where the rules hold."""
        return (
            "add each pair with SessionOptions.add_session_config_entry; the rules are for the nodes of the ONNX file "
            "that the run was given"
        )


def shortest_rules(device_of: Mapping[str, str]) -> dict[str, str]:
    """Return parts of names and their devices, such that the longest part in each name has that name's device.

    Args:
        device_of: the device of each name.

    Example:
        >>> shortest_rules({"conv1": "CPU", "conv10": "GPU", "relu": "CPU", "relu_2": "CPU"})
        {'conv1': 'CPU', 'conv10': 'GPU', 'r': 'CPU'}
    """
    rules = {part: device for part, device in _prefixes(sorted(device_of), 0, device_of) if _is_writable(part)}
    while wrong := [name for name, device in device_of.items() if _chosen(rules, name) != {device}]:
        rules.update((name, device_of[name]) for name in wrong)  # a name is the longest part of itself
    return rules


def _prefixes(names: Sequence[str], length: int, device_of: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the shortest prefixes, longer than `length`, below which all of the sorted `names` have one device."""
    for prefix, below in groupby(names, lambda name: name[: length + 1]):
        same = list(below)
        devices = {device_of[name] for name in same}
        if len(devices) == 1:
            yield prefix, devices.pop()
        else:  # they differ, so all but one of them are longer than what they share
            yield from _prefixes(same, len(commonprefix(same)), device_of)  # noqa: RUF071 - names are no paths


def _chosen(rules: Mapping[str, str], name: str) -> set[str]:
    """Return the devices of the longest parts that occur in `name`, in bytes as C++ counts them."""
    found = {part: len(part.encode()) for part in rules if part in name}
    longest = max(found.values(), default=0)
    return {rules[part] for part, n_bytes in found.items() if n_bytes == longest}


def _is_writable(name: str) -> bool:
    return bool(name) and name == name.strip() and not name.startswith("=") and not set(name) & set("(),;")


def _unsaid(names: Sequence[tuple[str, str]]) -> Iterator[str]:
    sayable = _sayable(names)
    nameless = sum(not name for name, _ in names)
    if nameless:
        yield f"{nameless} of {len(names)} nodes have no name that a rule could match; ONNX Runtime places them"
    left_out = [name for name, _ in names if name and name not in sayable]
    if left_out:
        yield (
            f"{len(left_out)} of {len(names)} names cannot be written in a rule, such as {left_out[0]!r}; "
            "ONNX Runtime places those nodes, unless a rule occurs in their names"
        )


def _too_long(value: str) -> Iterator[str]:
    if (n_bytes := len(value.encode())) > MAX_BYTES:
        yield f"the rules have {n_bytes} bytes, but ONNX Runtime takes at most {MAX_BYTES}"


def _sayable(names: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Return the device of each name that can be written, and that nodes on one device only have."""
    times = Counter(name for name, _ in set(names))
    return {name: device for name, device in names if times[name] == 1 and _is_writable(name)}


def _value(names: Sequence[tuple[str, str]], devices: Sequence[Device]) -> str:
    designator = {device.name: _designator(device) for device in devices}
    rules = shortest_rules({name: designator[device] for name, device in _sayable(names).items()})
    by_device: dict[str, list[str]] = {}
    for part, device in rules.items():
        by_device.setdefault(device, []).append(part)
    return "; ".join(f"{device}({', '.join(parts)})" for device, parts in sorted(by_device.items()))


def _designator(device: Device) -> str:
    """Return ONNX Runtime's word for a device, such as `gpu:1` for `GPU.1`."""
    return device.base.lower().replace(".", ":")
