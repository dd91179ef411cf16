"""Partitions of operations into groups: the result of coarseners, groupers and parsing networks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from ovplace.core.integer_labels import renumbered
from ovplace.core.placement import Placement
from ovplace.graphs.dag import topological_order
from ovplace.graphs.op_graph import BoolArray, IntArray, OpGraph, frozen_array


@dataclass(frozen=True, eq=False)
class Quotient:
    """The coarse graph of a partition, with one node for each group.

    Attributes:
        n_groups: number of groups G.
        edges: distinct directed pairs of different groups, `[2, Q]`.
        sizes: operations in each group, `[G]`.
    """

    n_groups: int
    edges: IntArray
    sizes: IntArray

    @cached_property
    def is_acyclic(self) -> bool:
        """Whether the groups can be put in an order."""
        try:
            topological_order(self.n_groups, self.edges)
        except ValueError:
            return False
        return True


@dataclass(frozen=True, eq=False)
class Partition:
    """A map from operations to groups 0..G-1, none of which is empty.

    Attributes:
        group_of: the group of each operation, `[N]`.
    """

    group_of: IntArray = field(repr=False)

    def __post_init__(self) -> None:
        """Freeze the array and check that no group is empty."""
        group_of = frozen_array(self.group_of)
        object.__setattr__(self, "group_of", group_of)
        used = np.unique(group_of)
        if len(used) and not np.array_equal(used, np.arange(len(used))):
            raise ValueError(f"groups must be 0..{len(used) - 1} without gaps, got up to {used[-1]}")

    @classmethod
    def identity(cls, n: int) -> Partition:
        """Return the partition in which every operation is its own group."""
        return cls(np.arange(n))

    @classmethod
    def from_labels(cls, labels: Sequence[int] | IntArray) -> Partition:
        """Return a partition from arbitrary integer labels, groups numbered by first appearance."""
        return cls(renumbered(np.asarray(labels)))

    @property
    def n_groups(self) -> int:
        """Number of groups G."""
        return int(self.group_of.max()) + 1 if len(self.group_of) else 0

    @cached_property
    def members(self) -> tuple[IntArray, ...]:
        """Operations of each group in index order, `[G]` arrays."""
        by_group = np.argsort(self.group_of, kind="stable")
        bounds = np.searchsorted(self.group_of[by_group], np.arange(1, self.n_groups))
        return tuple(np.split(by_group, bounds))

    def then(self, coarser: Partition) -> Partition:
        """Compose: `coarser` groups this partition's groups.

        Raises:
            ValueError: `coarser` is a partition of another number of groups.
        """
        if len(coarser.group_of) != self.n_groups:
            raise ValueError(f"expected a partition of {self.n_groups} groups, got {len(coarser.group_of)}")
        return Partition(coarser.group_of[self.group_of])

    def quotient(self, graph: OpGraph, *, acyclic: bool = False) -> Quotient:
        """Return the coarse graph.

        Args:
            graph: the graph this partitions.
            acyclic: whether to insist on an acyclic result.

        Raises:
            ValueError: the quotient has a cycle although `acyclic` was asked for.
        """
        quotient = _quotient(self, graph)
        if acyclic and not quotient.is_acyclic:
            raise ValueError(f"the quotient of {self.n_groups} groups has a cycle")
        return quotient

    def every(self, flags: BoolArray) -> BoolArray:
        """Return whether flags are set for all operations of each group, `[G, D]`.

        Args:
            flags: whether each is set for each operation, `[N, D]`.
        """
        found = np.ones((self.n_groups, flags.shape[1]), dtype=bool)
        np.logical_and.at(found, self.group_of, flags)
        return found

    def lift(self, device_of_group: Sequence[int] | IntArray, devices: Sequence[str]) -> Placement:
        """Return the placement that gives every operation its group's device.

        Args:
            device_of_group: device of each group, `[G]`.
            devices: names of the devices, `[D]`.

        Raises:
            ValueError: there is not one device for each group.
        """
        choice = np.asarray(device_of_group, dtype=np.int64)
        if choice.shape != (self.n_groups,):
            raise ValueError(f"expected one device for each of {self.n_groups} groups, got {choice.shape}")
        return Placement(choice[self.group_of], tuple(devices))

    def lower(self, device_of: IntArray) -> IntArray:
        """Return the device of each group from the devices of the operations: the inverse of `lift`.

        Args:
            device_of: device of each operation, of one placement `[N]` or of several `[B, N]`.

        Returns:
            Device of each group, `[G]` or `[B, G]`.

        Raises:
            ValueError: the operations of a group are on several devices, or there are not N of them.
        """
        if device_of.shape[-1] != len(self.group_of):
            raise ValueError(f"expected devices of {len(self.group_of)} operations, got {device_of.shape[-1]}")
        choice = device_of[..., self._first]
        if not np.array_equal(choice[..., self.group_of], device_of):
            raise ValueError("the operations of a group are on several devices; `split_mixed_groups` takes them apart")
        return np.asarray(choice)

    @cached_property
    def _first(self) -> IntArray:
        """The first operation of each group, `[G]`."""
        return np.unique(self.group_of, return_index=True)[1].astype(np.int64)


def _quotient(partition: Partition, graph: OpGraph) -> Quotient:
    n = partition.n_groups
    if len(partition.group_of) != len(graph):
        raise ValueError(f"partition of {len(partition.group_of)} operations, graph of {len(graph)}")
    source, target = partition.group_of[graph.edges]
    pairs = np.unique((source * n + target)[source != target])
    return Quotient(
        n_groups=n,
        edges=np.stack([pairs // n, pairs % n]) if len(pairs) else np.empty((2, 0), dtype=np.int64),
        sizes=np.bincount(partition.group_of, minlength=n).astype(np.int64),
    )
