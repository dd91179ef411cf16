"""The placement: a device for each operation."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from ovplace.errors import PlacementError
from ovplace.graphs.op_graph import IntArray, OpGraph, frozen_array
from ovplace.graphs.submodels import running_submodels, submodel_devices


@dataclass(frozen=True, eq=False)
class Placement:
    """A device for every operation.

    Attributes:
        device_of: index into `devices` for each operation, `[N]`.
        devices: device names.
    """

    device_of: IntArray = field(repr=False)
    devices: tuple[str, ...]

    def __post_init__(self) -> None:
        """Freeze the array and check that every device is known."""
        device_of = frozen_array(self.device_of)
        object.__setattr__(self, "device_of", device_of)
        object.__setattr__(self, "devices", tuple(self.devices))
        if (unknown := device_of[(device_of < 0) | (device_of >= len(self.devices))]).size:
            raise ValueError(f"device indices must be 0..{len(self.devices) - 1}, got {unknown[0]}")

    @classmethod
    def uniform(cls, n: int, device: str, devices: tuple[str, ...] = ()) -> Placement:
        """Return the placement of all operations on one device.

        Args:
            n: number of operations.
            device: name of the device.
            devices: names that the placement knows; `device` alone by default.

        Raises:
            ValueError: `device` is not among `devices`.

        Example:
            >>> Placement.uniform(3, "GPU", ("GPU", "CPU")).ops_per_device()
            {'GPU': 3, 'CPU': 0}
        """
        devices = devices or (device,)
        return cls(np.full(n, devices.index(device)), devices)

    @classmethod
    def from_names(cls, graph: OpGraph, table: Mapping[str, str]) -> Placement:
        """Return the placement that a table of names describes.

        Args:
            graph: the operations.
            table: device name of each operation, by the operation's name.

        Raises:
            PlacementError: operations are missing from the table, or it names unknown ones.
        """
        missing = [name for name in graph.names if name not in table]
        unknown = [name for name in table if name not in graph.index]
        if missing or unknown:
            raise PlacementError(
                f"the placement is of another model: {len(missing)} of {len(graph)} operations are not in it"
                + (f" (first: '{missing[0]}')" if missing else "")
                + (f", {len(unknown)} of its names are not in the model (first: '{unknown[0]}')" if unknown else "")
                + "; use the placed.xml that lies beside it"
            )
        devices = tuple(sorted(set(table.values())))
        position = {name: i for i, name in enumerate(devices)}
        return cls(np.array([position[table[name]] for name in graph.names]), devices)

    def to_names(self, graph: OpGraph) -> dict[str, str]:
        """Return {operation name: device name} for every operation, in graph order."""
        return {name: self.devices[d] for name, d in zip(graph.names, self.device_of.tolist(), strict=True)}

    @cached_property
    def hash(self) -> str:
        """Hash of the device name of every operation; equal placements have equal hashes."""
        used, inverse = np.unique(np.array(self.devices, dtype=str)[self.device_of], return_inverse=True)
        digest = hashlib.blake2b("\n".join(used).encode(), digest_size=12)
        digest.update(inverse.astype("<i4").tobytes())
        return digest.hexdigest()

    @property
    def used(self) -> tuple[str, ...]:
        """Names of the devices that have at least one operation, in the order of `devices`."""
        return tuple(self.devices[d] for d in np.unique(self.device_of))

    @property
    def is_uniform(self) -> bool:
        """True if one device has every operation."""
        return len(self.used) == 1

    def indices(self, devices: Sequence[str]) -> IntArray:
        """Return the device of each operation as an index into other names, `[N]`.

        Args:
            devices: names; of this placement's, those that no operation uses may be missing.

        Raises:
            ValueError: a device that is used is not among them.
        """
        used = set(self.used)
        position = [devices.index(name) if name in used else 0 for name in self.devices]
        return np.array(position, dtype=np.int64)[self.device_of]

    def ops_per_device(self) -> dict[str, int]:
        """Return the number of operations on each device, unused ones as 0."""
        counts = np.bincount(self.device_of, minlength=len(self.devices))
        return {name: int(count) for name, count in zip(self.devices, counts, strict=True)}

    def submodels(self, graph: OpGraph) -> list[str]:
        """Return the device of each submodel HETERO would form, in running order."""
        submodels = running_submodels(graph, self.device_of)
        return [self.devices[d] for d in submodel_devices(graph, self.device_of, submodels)]

    def cut_bytes(self, graph: OpGraph) -> int:
        """Return the bytes that cross between devices in one inference, once per tensor and destination.

        Constants do not count: HETERO copies them into the submodel that reads them.
        """
        source, target = self.device_of[graph.edges]
        crossing = np.flatnonzero((source != target) & ~graph.is_constant[graph.edges[0]])
        tensor = np.stack([graph.edges[0], graph.ports[0], target])[:, crossing]
        _, once = np.unique(tensor, axis=1, return_index=True)
        return int(graph.out_bytes[crossing[once]].sum())
