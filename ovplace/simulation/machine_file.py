"""Simulated machines as TOML files.

[machine]            description
[devices.GPU]        fields of `SimulatedDevice`; a table each, in the order of HETERO's priorities
[links.default]      fields of `Link`; [links."CPU>GPU"] for one direction of one pair
[fusable]            producer type = [types that can be fused into it]
[noise]              fields of `Noise`
[failures]           crash_probability
[calibration.NAME]   device = factor on the time of all operations of the model NAME there
"""

from __future__ import annotations

import difflib
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path
from typing import Any

from ovplace.config import toml
from ovplace.config.files import reachable
from ovplace.core.build_dataclass import build_dataclass
from ovplace.core.device import Device
from ovplace.errors import ConfigError, DeviceError, UsageError
from ovplace.shipped import shipped, shipped_in
from ovplace.simulation.machine import Link, SimulatedDevice, SimulatedMachine
from ovplace.simulation.noise import Noise

_FOLDER = "configs/machines"
_SECTIONS = ("machine", "devices", "links", "fusable", "noise", "failures", "calibration")

Table = Mapping[str, Any]


@dataclass(frozen=True)
class _About:
    description: str = ""


@dataclass(frozen=True)
class _Failures:
    crash_probability: float = 0.0

    def __post_init__(self) -> None:
        """Check the number."""
        if not 0 <= self.crash_probability <= 1:
            raise ValueError(f"crash_probability must be 0 to 1, got {self.crash_probability}")


def machine_names() -> list[str]:
    """Return the names of the machines that come with ovplace."""
    return shipped_in(_FOLDER, ".toml")


def load_machine(machine: str) -> SimulatedMachine:
    """Return a machine that comes with ovplace, by its name, or that of a TOML file.

    Raises:
        UsageError: there is no such machine or file.
        ConfigError: the file is not understood; the text names the place.
    """
    path = _path(machine)
    tables = toml.read(path)
    toml.check_sections(tables, _SECTIONS, path)
    devices = _devices(tables.get("devices", {}), path)
    known = tuple(device.name for device in devices)
    links = _links(tables.get("links", {}), known, path)
    return SimulatedMachine(
        name=path.stem,
        devices=devices,
        links={key: link for key, link in links.items() if key != ("default", "")},
        default_link=links[("default", "")],
        fusable=_fusable(tables.get("fusable", {}), path),
        noise=build_dataclass(Noise, tables.get("noise", {}), f"{path}: noise"),
        crash_probability=build_dataclass(_Failures, tables.get("failures", {}), f"{path}: failures").crash_probability,
        calibration=_calibration(tables.get("calibration", {}), known, path),
        description=build_dataclass(_About, tables.get("machine", {}), f"{path}: machine").description,
        digest=hashlib.blake2b(json.dumps(tables, default=str).encode(), digest_size=8).hexdigest(),
    )


def _path(machine: str) -> Path:
    own = Path(machine)
    if own.suffix == ".toml" and reachable(own, "the machine").is_file():
        return own
    found = shipped(f"{_FOLDER}/{machine}.toml")
    if found is None:
        near = difflib.get_close_matches(machine, machine_names(), n=1)
        hint = f"did you mean '{near[0]}'? " if near else ""
        known = ", ".join(machine_names())
        raise UsageError(f"unknown simulated machine '{machine}'; {hint}there are: {known}, or give a .toml file")
    return found


def _tables(section: Table, place: str) -> dict[str, dict[str, Any]]:
    for key, value in section.items():
        if not isinstance(value, dict):
            raise ConfigError(f"'{place}.{key}' must be a table, got '{value}'")
    return dict(section)


def _devices(section: Table, path: Path) -> tuple[SimulatedDevice, ...]:
    found = []
    for name, table in _tables(section, f"{path}: devices").items():
        place = f"{path}: devices.{name}"
        device = build_dataclass(SimulatedDevice, {"name": name, "base": name, **table}, place)
        try:
            Device(device.name, device.base)  # has the rules of names
        except DeviceError as error:
            raise ConfigError(f"bad value in '{place}': {error}") from error
        found.append(replace(device, name=name))
    if not found:
        raise ConfigError(f"'{path}' has no [devices.NAME] section; a machine needs a device")
    return tuple(found)


def _links(section: Table, known: tuple[str, ...], path: Path) -> dict[tuple[str, str], Link]:
    links = {("default", ""): Link()}
    for key, table in _tables(section, f"{path}: links").items():
        source, arrow, target = key.partition(">")
        if key != "default" and not (arrow and source in known and target in known and source != target):
            raise ConfigError(f"'{path}: links.{key}' must be 'default' or 'A>B' of {', '.join(known)}")
        links[source, target] = build_dataclass(Link, table, f"{path}: links.{key}")
    if "default" not in section and len(known) ** 2 - len(known) > len(links) - 1:
        raise ConfigError(f"'{path}' has no [links.default] section, and not a link for each pair of devices")
    return links


def _fusable(section: Table, path: Path) -> dict[str, tuple[str, ...]]:
    for producer, readers in section.items():
        if not isinstance(readers, list) or not all(isinstance(reader, str) for reader in readers):
            raise ConfigError(f"'{path}: fusable.{producer}' must be a list of operation types, got '{readers}'")
    return {producer: tuple(readers) for producer, readers in section.items()}


def _calibration(section: Table, known: tuple[str, ...], path: Path) -> dict[str, dict[str, float]]:
    tables = _tables(section, f"{path}: calibration")
    for model, factors in tables.items():
        for device, factor in factors.items():
            if device not in known:
                raise ConfigError(f"unknown device '{path}: calibration.{model}.{device}'; known: {', '.join(known)}")
            if isinstance(factor, bool) or not isinstance(factor, int | float) or not 0 < factor < inf:
                raise ConfigError(f"'{path}: calibration.{model}.{device}' must be a positive number, got '{factor}'")
    return tables
