"""The problem that a placement algorithm solves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import prod

import numpy as np

from ovplace.core.cost_table import CostTable
from ovplace.core.device import Device
from ovplace.core.partition import Partition, Quotient
from ovplace.core.placement import Placement
from ovplace.errors import PlacementError
from ovplace.graphs.dag import component_rank
from ovplace.graphs.op_graph import BoolArray, FloatArray, IntArray, OpGraph


@dataclass(frozen=True, eq=False)
class Problem:
    """A search problem: all that a placer may see.

    Attributes:
        graph: the operations, N of them.
        partition: the group of each operation; a coarsening of the legal groups.
        devices: the devices to choose from, D of them.
        supported: whether each device can run each operation, `[N, D]`.
        features: node features, one row for each operation, `[N, F]`.
        seed: root seed.
        costs: the costs of groups, transfers and submodels; None unless the placer returns true from `needs_costs`.
        feature_names: names of the node features that `features` has columns of, in their order.
    """

    graph: OpGraph = field(repr=False)
    partition: Partition = field(repr=False)
    devices: tuple[Device, ...]
    supported: BoolArray = field(repr=False)
    features: FloatArray = field(repr=False)
    seed: int = 0
    costs: CostTable | None = field(default=None, repr=False)
    feature_names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Check shapes, and that every group has a device."""
        n, d = len(self.graph), len(self.devices)
        if self.supported.shape != (n, d):
            raise ValueError(f"expected supported of shape {(n, d)}, got {self.supported.shape}")
        if len(self.features) != n:
            raise ValueError(f"expected {n} feature rows, got {len(self.features)}")
        if len(self.partition.group_of) != n:
            raise ValueError(f"expected a partition of {n} operations, got {len(self.partition.group_of)}")
        if self.costs is not None and self.costs.group_ms.shape != (self.n_groups, d):
            raise ValueError(
                f"expected costs of {self.n_groups} groups on {d} devices, got {self.costs.group_ms.shape}"
            )
        homeless = np.flatnonzero(~self.allowed.any(axis=1))
        if len(homeless):
            op = int(self.partition.members[int(homeless[0])][0])
            raise PlacementError(
                f"no device of {', '.join(self.device_names)} can run the group of operation "
                f"'{self.graph.names[op]}' ({self.graph.types[op]}); add a device with -d"
            )

    @property
    def n_groups(self) -> int:
        """Number of groups G."""
        return self.partition.n_groups

    @property
    def device_names(self) -> tuple[str, ...]:
        """Names of the devices, `[D]`."""
        return tuple(device.name for device in self.devices)

    @cached_property
    def quotient(self) -> Quotient:
        """The coarse graph of the groups."""
        return self.partition.quotient(self.graph)

    @cached_property
    def allowed(self) -> BoolArray:
        """Whether each device can run all members of each group, `[G, D]`."""
        return self.partition.every(self.supported)

    @property
    def is_divisible(self) -> bool:
        """Whether some placement has several devices, which takes two groups, and two devices that run some group."""
        return self.n_groups > 1 and int(self.allowed.any(axis=0).sum()) > 1

    @cached_property
    def n_placements(self) -> int:
        """Number of different placements, the size of the search space."""
        return prod(self.allowed.sum(axis=1).tolist())

    @cached_property
    def group_order(self) -> IntArray:
        """Groups in a topological order, `[G]`; groups on a common cycle stand side by side."""
        rank = component_rank(self.n_groups, self.quotient.edges)
        return np.argsort(rank, kind="stable").astype(np.int64)

    def lift(self, device_of_group: Sequence[int] | IntArray) -> Placement:
        """Return the placement of the operations; a group sent where it cannot run goes to its first device."""
        choice = np.asarray(device_of_group, dtype=np.int64)
        rows = np.arange(self.n_groups)
        choice = np.where(self.allowed[rows, choice], choice, self.allowed.argmax(axis=1))
        return self.partition.lift(choice, self.device_names)

    def lower(self, placement: Placement) -> IntArray:
        """Return the device of each group of a placement that `lift` returned, `[G]`.

        Raises:
            ValueError: the operations of a group are on several devices.
        """
        return self.partition.lower(placement.device_of)

    def uniform(self, device: int) -> IntArray:
        """Return every group on one device, `[G]`; `lift` sends the groups that cannot run there elsewhere."""
        return np.full(self.n_groups, device, dtype=np.int64)
