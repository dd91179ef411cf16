"""The parameters of the sequential HETERO cost model for one grouped model: the numbers that placements cost."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any

import numpy as np

from ovplace.core.traffic import Traffic
from ovplace.graphs.op_graph import BoolArray, FloatArray, IntArray, frozen_array

_MAY_BE_INFINITE = ("group_ms", "memory_bytes")
"""Arrays with infinite entries: a group that cannot run, memory that does not matter."""


@dataclass(frozen=True, eq=False)
class CostTable:
    """The cost model of G groups with Q edges and T tensors on D devices.

    A placement costs the sum of the terms in `cost/evaluate/terms.py`, which are linear in the arrays here: the time of
    each group where it runs, less the time that neighbours save by running together, plus, for each tensor and each
    other device that reads it, the transfer, plus the overhead of each submodel.

    The axes of an array are part of its declaration: checks, files, parts of a model and the fit follow from them. The
    array of a further term comes last, with a default of zero, so that tables stored without it can be read.

    Attributes:
        traffic: tensors between groups.
        edges: distinct directed pairs of neighbouring groups, `[2, Q]`.
        group_ms: time of each group on each device, infinite where it cannot run, `[G, D]`.
        saving_ms: time saved by each edge whose two ends run on the same device, `[Q, D]`.
        latency_ms: fixed cost of passing a tensor from one device (row) to another (column), `[D, D]`.
        ms_per_byte: cost of each byte of it, `[D, D]`.
        submodel_ms: overhead of each submodel on each device, `[D]`.
        group_bytes: memory that each group needs, `[G]`.
        memory_bytes: memory of each device, infinite where it does not matter, `[D]`.
        source: origin of the numbers in words, such as `measured here` or `simulated: core-ultra`.

    Raises:
        ValueError: an array has another shape than its axes say, or holds a number that is negative or, but for
            `group_ms` and `memory_bytes`, not finite; or a group has no device with a finite cost.
    """

    traffic: Traffic = field(repr=False)
    edges: IntArray = field(repr=False)
    group_ms: FloatArray = field(repr=False, metadata={"axes": "GD"})
    saving_ms: FloatArray = field(repr=False, metadata={"axes": "QD"})
    latency_ms: FloatArray = field(metadata={"axes": "DD"})
    ms_per_byte: FloatArray = field(metadata={"axes": "DD"})
    submodel_ms: FloatArray = field(metadata={"axes": "D"})
    group_bytes: FloatArray = field(repr=False, metadata={"axes": "G"})
    memory_bytes: FloatArray = field(metadata={"axes": "D"})
    source: str = ""

    def __post_init__(self) -> None:
        """Freeze the arrays and check shapes and signs."""
        object.__setattr__(self, "edges", frozen_array(np.reshape(self.edges, (2, -1))))
        g, d = np.shape(self.group_ms)
        sizes = {"G": g, "D": d, "Q": self.edges.shape[1], "T": len(self.traffic.source)}
        for name, axes in self.axes().items():
            shape = tuple(sizes[axis] for axis in axes)
            array = np.array(getattr(self, name), dtype=np.float64)
            if array.ndim == 0:
                array = np.full(shape, array)
            if array.shape != shape:
                raise ValueError(f"expected {name} of shape {shape}, got {array.shape}")
            if np.isnan(array).any() or (array < 0).any():
                raise ValueError(f"{name} must not be negative, got {array.min()}")
            if name not in _MAY_BE_INFINITE and not np.isfinite(array).all():
                raise ValueError(f"{name} must be finite")
            array.setflags(write=False)
            object.__setattr__(self, name, array)
        if not np.isfinite(self.group_ms).any(axis=1).all():
            raise ValueError("each group needs a device with a finite cost")

    @classmethod
    def axes(cls) -> dict[str, str]:
        """Return the axes of each array by name, such as `GD`: groups, devices, edges (`Q`) or tensors (`T`)."""
        return {f.name: f.metadata["axes"] for f in fields(cls) if "axes" in f.metadata}

    @property
    def n_groups(self) -> int:
        """Number of groups G."""
        return int(self.group_ms.shape[0])

    @property
    def n_devices(self) -> int:
        """Number of devices D."""
        return int(self.group_ms.shape[1])

    @cached_property
    def hash(self) -> str:
        """Hash of all the numbers."""
        return hashlib.blake2b(json.dumps(self.to_dict()).encode(), digest_size=16).hexdigest()

    def uniform(self, device: int) -> IntArray:
        """Return every group on one device, `[G]`, whether or not all can run there."""
        return np.full(self.n_groups, device, dtype=np.int64)

    def uniform_choices(self) -> IntArray:
        """Return the placements of all groups on one device, for each device in turn, `[D, G]`."""
        return np.repeat(np.arange(self.n_devices)[:, None], self.n_groups, axis=1)

    def transfer_ms(self) -> FloatArray:
        """Return the cost of passing each tensor from each device to each other one, `[T, D, D]`; 0 to itself."""
        cost = self.latency_ms + self.traffic.n_bytes[:, None, None] * self.ms_per_byte
        return np.asarray(cost * (1 - np.eye(self.n_devices)))

    def edge_of_readers(self) -> IntArray:
        """Return the edge that leads to each reader of a tensor from the group that writes it, `[R]`."""
        keys, wanted = map(self._numbers, (self.edges, self.traffic.pairs))
        order = np.argsort(keys)
        return np.asarray(order[np.searchsorted(keys[order], wanted)], dtype=np.int64)

    def used_bytes(self, device_of: IntArray) -> FloatArray:
        """Return the memory that placements `[B, G]` take on each device in bytes, `[B, D]`."""
        used = [(self.group_bytes * (device_of == device)).sum(axis=1) for device in range(self.n_devices)]
        return np.stack(used, axis=1)

    def fits(self, device_of: IntArray) -> BoolArray:
        """Return which placements `[B, G]` stay within the memory of every device, `[B]`."""
        return np.asarray((self.used_bytes(device_of) <= self.memory_bytes).all(axis=1))

    def runs(self, device_of: IntArray) -> BoolArray:
        """Return which placements `[..., G]` have each group on a device that can run it, `[...]`."""
        return np.asarray(np.isfinite(self.group_ms[np.arange(self.n_groups), device_of]).all(axis=-1))

    def to_dict(self) -> dict[str, object]:
        """Return plain data for JSON, the inverse of `from_dict`; infinite becomes None."""
        data: dict[str, object] = {f.name: _plain(getattr(self, f.name)) for f in fields(self) if f.name != "traffic"}
        return data | {"traffic": {f.name: _plain(getattr(self.traffic, f.name)) for f in fields(Traffic)}}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> CostTable:
        """Build a table from what `to_dict` returned.

        Raises:
            KeyError, TypeError: an array is missing, or another field is there.
            ValueError: the arrays do not fit each other, or name groups or edges that there are not.
        """
        sizes = {"G": len(data["group_ms"]), "D": len(data["submodel_ms"]), "Q": -1, "T": -1}
        arrays = {
            name: np.reshape(_restored(data[name]), [sizes[axis] for axis in axes])
            for name, axes in cls.axes().items()
            if name in data
        }
        rest = {name: value for name, value in data.items() if name not in arrays}
        table = cls(**rest | arrays | {"traffic": Traffic(**data["traffic"])})
        table._check_groups()
        return table

    def _check_groups(self) -> None:
        """Check the groups of data from outside: those that a search derives, by the thousand, would take longer."""
        traffic = self.traffic
        for name, groups in (("edges", self.edges), ("source", traffic.source), ("readers", traffic.readers)):
            if groups.size and not 0 <= groups.min() <= groups.max() < self.n_groups:
                raise ValueError(f"{name} must be groups 0..{self.n_groups - 1}, got {groups.min()}..{groups.max()}")
        if not np.isin(self._numbers(traffic.pairs), self._numbers(self.edges)).all():
            raise ValueError("each tensor must pass along an edge")

    def _numbers(self, pairs: IntArray) -> IntArray:
        """Return one number for each pair of groups `[2, P]`, `[P]`."""
        return np.asarray(pairs[0] * self.n_groups + pairs[1])


def _plain(value: object) -> object:
    if not isinstance(value, np.ndarray):
        return value
    plain = value.astype(object)
    plain[~np.isfinite(value)] = None
    return plain.tolist()


def _restored(value: list[Any]) -> FloatArray:
    array = np.array(value, dtype=object)
    array[array == None] = np.inf  # noqa: E711 - elementwise
    return array.astype(np.float64)
