"""What a placement costs, as numbers: the parameters of the sequential HETERO cost model for one grouped model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any

import numpy as np

from ovplace.core.partition import Partition
from ovplace.graphs.op_graph import BoolArray, FloatArray, IntArray, OpGraph, frozen_array


@dataclass(frozen=True, eq=False)
class Traffic:
    """The tensors that pass between groups.

    Attributes:
        source: group that writes each tensor, `[T]`.
        n_bytes: size of each tensor in bytes, `[T]`.
        starts: where each tensor's readers begin in `readers`, `[T]`.
        readers: the distinct other groups that read each tensor, tensor after tensor, `[R]`.
    """

    source: IntArray
    n_bytes: IntArray
    starts: IntArray
    readers: IntArray

    def __post_init__(self) -> None:
        """Freeze the arrays and check that each tensor has a reader."""
        for name in ("source", "n_bytes", "starts", "readers"):
            object.__setattr__(self, name, frozen_array(getattr(self, name)))
        counts = np.diff(self.starts, append=len(self.readers))
        if not len(self.source) == len(self.n_bytes) == len(self.starts):
            raise ValueError("source, n_bytes and starts must have one entry a tensor")
        if len(counts) and (counts.min() < 1 or self.starts[0] != 0):
            raise ValueError("each tensor needs at least one reader, the first one's at 0")

    @classmethod
    def between(cls, graph: OpGraph, partition: Partition) -> Traffic:
        """Return the tensors that `graph` passes between the groups of `partition`, constants left out.

        HETERO copies a Constant into each submodel that reads it.
        """
        group = partition.group_of
        constant = np.array([kind == "Constant" for kind in graph.types], dtype=bool)
        source, target = group[graph.edges]
        crossing = np.flatnonzero((source != target) & ~constant[graph.edges[0]])
        rows = np.stack([graph.edges[0], graph.ports[0], target])[:, crossing]
        (op, port, reader), first = np.unique(rows, axis=1, return_index=True)
        starts = np.flatnonzero(np.diff(op, prepend=-1) | np.diff(port, prepend=-1))
        return cls(group[op[starts]], graph.out_bytes[crossing[first[starts]]], starts, reader)

    @cached_property
    def tensor_of(self) -> IntArray:
        """The tensor that each entry of `readers` reads, `[R]`."""
        counts = np.diff(self.starts, append=len(self.readers))
        return np.repeat(np.arange(len(self.source)), counts)


@dataclass(frozen=True, eq=False)
class CostTable:
    """The cost model of one grouped model on some devices.

    A placement costs the time of each group where it runs, less what neighbours save by running together, plus, for
    each tensor and each other device that reads it, the transfer, plus the overhead of each submodel.

    Attributes:
        traffic: tensors between groups.
        edges: distinct directed pairs of neighbouring groups, `[2, Q]`.
        group_ms: time of each group on each device, infinite where it cannot run, `[G, D]`.
        saving_ms: what the two ends of each edge save by running on the same device, `[Q, D]`; not negative.
        latency_ms: fixed cost of passing a tensor from one device (row) to another (column), `[D, D]`.
        ms_per_byte: cost of each byte of it, `[D, D]`.
        submodel_ms: overhead of each submodel on each device, `[D]`.
        group_bytes: memory that each group needs, `[G]`.
        memory_bytes: memory of each device, infinite where it does not matter, `[D]`.
        source: where the numbers come from, in words, such as `measured here` or `simulated: core-ultra`.
    """

    traffic: Traffic = field(repr=False)
    edges: IntArray = field(repr=False)
    group_ms: FloatArray = field(repr=False)
    saving_ms: FloatArray = field(repr=False)
    latency_ms: FloatArray
    ms_per_byte: FloatArray
    submodel_ms: FloatArray
    group_bytes: FloatArray = field(repr=False)
    memory_bytes: FloatArray
    source: str = ""

    def __post_init__(self) -> None:
        """Freeze the arrays and check shapes and signs."""
        object.__setattr__(self, "edges", frozen_array(np.reshape(self.edges, (2, -1))))
        g, d, q = *np.shape(self.group_ms), self.edges.shape[1]
        expected = {
            "group_ms": (g, d), "saving_ms": (q, d), "latency_ms": (d, d), "ms_per_byte": (d, d),
            "submodel_ms": (d,), "group_bytes": (g,), "memory_bytes": (d,),
        }  # fmt: skip
        for name, shape in expected.items():
            array = np.array(getattr(self, name), dtype=np.float64)
            if array.shape != shape:
                raise ValueError(f"expected {name} of shape {shape}, got {array.shape}")
            if np.isnan(array).any() or (array < 0).any():
                raise ValueError(f"{name} must not be negative, got {array.min()}")
            array.setflags(write=False)
            object.__setattr__(self, name, array)
        if not np.isfinite(self.group_ms).any(axis=1).all():
            raise ValueError("each group needs a device with a finite cost")
        for name in ("saving_ms", "latency_ms", "ms_per_byte", "submodel_ms", "group_bytes"):
            if not np.isfinite(getattr(self, name)).all():
                raise ValueError(f"{name} must be finite")

    @property
    def n_groups(self) -> int:
        """Number of groups G."""
        return int(self.group_ms.shape[0])

    @property
    def n_devices(self) -> int:
        """Number of devices D."""
        return int(self.group_ms.shape[1])

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

    def fits(self, device_of: IntArray) -> BoolArray:
        """Return which placements `[B, G]` stay within the memory of every device, `[B]`."""
        used = [(self.group_bytes * (device_of == device)).sum(axis=1) for device in range(self.n_devices)]
        return np.asarray((np.stack(used, axis=1) <= self.memory_bytes).all(axis=1))

    def to_dict(self) -> dict[str, object]:
        """Return plain data for JSON, the inverse of `from_dict`; infinite becomes None."""
        data: dict[str, object] = {f.name: _plain(getattr(self, f.name)) for f in fields(self) if f.name != "traffic"}
        return data | {"traffic": {f.name: _plain(getattr(self.traffic, f.name)) for f in fields(Traffic)}}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> CostTable:
        """Build a table from what `to_dict` returned."""
        rest = {name: _restored(value) for name, value in data.items() if name != "traffic"}
        g = len(data["group_ms"])
        d = len(data["submodel_ms"])
        rest["saving_ms"] = np.reshape(rest["saving_ms"], (-1, d))
        rest["group_ms"] = np.reshape(rest["group_ms"], (g, d))
        return cls(traffic=Traffic(**data["traffic"]), **rest)


def _plain(value: object) -> object:
    if not isinstance(value, np.ndarray):
        return value
    plain = value.astype(object)
    plain[~np.isfinite(value)] = None
    return plain.tolist()


def _restored(value: object) -> Any:
    if not isinstance(value, list):
        return value
    array = np.array(value, dtype=object)
    array[array == None] = np.inf  # noqa: E711 - elementwise
    return array.astype(np.float64)
