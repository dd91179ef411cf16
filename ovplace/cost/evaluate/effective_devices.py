"""The devices on which HETERO runs operations, and groups that are on one device each."""

from __future__ import annotations

from collections.abc import Sequence

from ovplace.core.partition import Partition
from ovplace.graphs.op_graph import IntArray, OpGraph
from ovplace.graphs.work import constant_bytes


def effective_devices(graph: OpGraph, device_of: IntArray) -> IntArray:
    """Return the devices of operations as HETERO treats them: operations that run nothing follow others.

    Constants, what is computed from them alone, and Parameters are where their first reader is, Results where their
    producer is, whatever device they were given.

    Args:
        graph: the model.
        device_of: device given to each operation, `[N]`.

    Returns:
        Effective device of each operation, `[N]`.
    """
    moved = device_of.copy()
    constant = constant_bytes(graph)
    for op in graph.order[::-1].tolist():
        readers = [reader for reader in graph.successors[op] if graph.types[reader] != "Result"]
        if readers and (op in constant or graph.types[op] == "Parameter"):
            moved[op] = moved[_first(graph, readers)]
    for op, kind in enumerate(graph.types):
        if kind == "Result":
            moved[op] = moved[graph.predecessors[op][0]]
    return moved


def _first(graph: OpGraph, ops: Sequence[int]) -> int:
    return min(ops, key=lambda op: int(graph.rank[op]))


def split_mixed_groups(partition: Partition, device_of: IntArray) -> tuple[Partition, IntArray]:
    """Return the partition with each group that is on several devices split by device.

    Args:
        partition: the groups.
        device_of: device of each operation, `[N]`.

    Returns:
        The finer partition, and the device of each of its groups, `[G]`.
    """
    labels = partition.group_of * (int(device_of.max(initial=0)) + 1) + device_of
    finer = Partition.from_labels(labels)
    return finer, finer.lower(device_of)
