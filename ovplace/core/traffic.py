"""The tensors that pass between the groups of a partition."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ovplace.core.partition import Partition
from ovplace.graphs.op_graph import IntArray, OpGraph, frozen_array


@dataclass(frozen=True, eq=False)
class Traffic:
    """The tensors that pass between groups.

    Attributes:
        source: group that writes each tensor, `[T]`.
        n_bytes: size of each tensor in bytes, `[T]`.
        starts: index in `readers` of each tensor's first reader, `[T]`.
        readers: the distinct other groups that read each tensor, tensor after tensor, `[R]`.

    Raises:
        ValueError: the lengths differ, or a tensor has no reader.
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
        """Return the tensors that pass between groups, Constants left out: HETERO copies them into each reader.

        Args:
            graph: the model.
            partition: its groups.
        """
        group = partition.group_of
        source, target = group[graph.edges]
        crossing = np.flatnonzero((source != target) & ~graph.is_constant[graph.edges[0]])
        rows = np.stack([graph.edges[0], graph.ports[0], target])[:, crossing]
        (op, port, reader), first = np.unique(rows, axis=1, return_index=True)
        starts = np.flatnonzero(np.diff(op, prepend=-1) | np.diff(port, prepend=-1))
        return cls(group[op[starts]], graph.out_bytes[crossing[first[starts]]], starts, reader)

    @property
    def pairs(self) -> IntArray:
        """The group that writes and the group that reads, for each entry of `readers`, `[2, R]`."""
        return np.stack([self.source[self.tensor_of], self.readers])

    @cached_property
    def tensor_of(self) -> IntArray:
        """The tensor that each entry of `readers` reads, `[R]`."""
        counts = np.diff(self.starts, append=len(self.readers))
        return np.repeat(np.arange(len(self.source)), counts)
