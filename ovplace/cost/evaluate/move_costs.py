"""The cost of one group on each device while all others stay: the model as a single move sees it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ovplace.core.cost_table import CostTable
from ovplace.cost.evaluate.folding import folded
from ovplace.graphs.op_graph import FloatArray, IntArray


class MoveCosts:
    """The cost of single groups on each device, for many placements at once.

    Differences between the devices are those of the pairwise model (`pairwise_ms`). Only the tensors and edges of the
    groups asked for are evaluated, where that model evaluates all of them for each move.
    """

    def __init__(self, table: CostTable) -> None:
        """Find what touches each group."""
        self._table = folded(table)
        self._all = _touching(self._table, np.arange(table.n_groups))
        self._single: dict[int, _Touching] = {}

    def all_ms(self, device_of: IntArray) -> FloatArray:
        """Return the cost of each group on each device under placements `[B, G]`, ms `[B, G, D]`."""
        return _cost_ms(self._all, device_of)

    def group_ms(self, device_of: IntArray, group: int) -> FloatArray:
        """Return the cost of one group on each device, ms `[B, D]`.

        Args:
            device_of: device of each group under each placement, `[B, G]`.
            group: the group that moves.
        """
        touching = self._single.get(group)
        if touching is None:
            touching = self._single[group] = _touching(self._table, np.array([group]))
        return _cost_ms(touching, device_of)[:, 0]


@dataclass(frozen=True, eq=False)
class _Touching:
    """The tensors that n groups write or read, and their edges.

    Attributes:
        work_ms: time of each of the groups, `[n, D]`.
        source: group that writes each of the tensors, `[t]`.
        transfer_ms: cost of passing them, `[t, D, D]`.
        starts: index in `readers` of the first reader of each, `[t]`.
        readers: group of each reader, `[r]`.
        written: tensors that the groups write, and which of the groups does, `[2, w]`.
        read: readers that the groups are, which of the groups, and the tensor, `[3, k]`.
        ends: group at the other end of each edge, and which of the groups is at this end, `[2, e]`.
        saving_ms: saving of each of these edges, `[e, D]`.
    """

    work_ms: FloatArray
    source: IntArray
    transfer_ms: FloatArray
    starts: IntArray
    readers: IntArray
    written: IntArray
    read: IntArray
    ends: IntArray
    saving_ms: FloatArray


def _touching(table: CostTable, groups: IntArray) -> _Touching:
    place = np.full(table.n_groups, -1)
    place[groups] = np.arange(len(groups))
    traffic, tensor_of = table.traffic, table.traffic.tensor_of
    touched = place[traffic.source] >= 0
    touched[tensor_of[place[traffic.readers] >= 0]] = True
    tensors = np.flatnonzero(touched)
    local = np.cumsum(touched) - 1
    entries = np.flatnonzero(touched[tensor_of])
    readers, tensor = traffic.readers[entries], local[tensor_of[entries]]
    own_written = np.flatnonzero(place[traffic.source[tensors]] >= 0)
    own_read = np.flatnonzero(place[readers] >= 0)
    here, there = np.concatenate([table.edges, table.edges[::-1]], axis=1)
    edge = np.flatnonzero(place[here] >= 0)
    return _Touching(
        work_ms=table.group_ms[groups],
        source=traffic.source[tensors],
        transfer_ms=table.transfer_ms()[tensors],
        starts=np.searchsorted(tensor, np.arange(len(tensors))),
        readers=readers,
        written=np.stack([own_written, place[traffic.source[tensors[own_written]]]]),
        read=np.stack([own_read, place[readers[own_read]], tensor[own_read]]),
        ends=np.stack([there[edge], place[here[edge]]]),
        saving_ms=table.saving_ms[edge % max(table.edges.shape[1], 1)],
    )


def _cost_ms(touching: _Touching, device_of: IntArray) -> FloatArray:
    """Return `[B, n, D]`."""
    d = touching.work_ms.shape[1]
    device = np.ascontiguousarray(device_of.T)  # entries first: what is added up runs along the first axis
    total = np.repeat(touching.work_ms[:, None, :], len(device_of), axis=1)
    if len(touching.source):
        reads = device[touching.readers][..., None] == np.arange(d)
        count = np.add.reduceat(reads, touching.starts, axis=0, dtype=np.int64)
        tensor, slot = touching.written
        np.add.at(total, slot, np.matmul(count[tensor] > 0, touching.transfer_ms[tensor].transpose(0, 2, 1)))
        reader, slot, tensor = touching.read
        home = device[touching.source[tensor]]
        arrival = touching.transfer_ms[tensor[:, None], home]
        np.add.at(total, slot, np.where(count[tensor] > reads[reader], 0.0, arrival))
    other, slot = touching.ends
    together = device[other][..., None] == np.arange(d)
    np.add.at(total, slot, -np.where(together, touching.saving_ms[:, None, :], 0.0))
    return np.asarray(total.transpose(1, 0, 2))
