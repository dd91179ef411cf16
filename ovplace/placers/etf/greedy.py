"""Greedy placement of one group after another."""

from __future__ import annotations

import numpy as np

from ovplace.core.cost_table import CostTable
from ovplace.core.problem import Problem
from ovplace.graphs.op_graph import FloatArray, IntArray


class GreedyPass:
    """Places group after group on the device where it adds least latency, and never moves it again."""

    def __init__(self, problem: Problem, table: CostTable, weight: float) -> None:
        """Prepare passes over one problem.

        Args:
            problem: the problem to place.
            table: its costs.
            weight: factor on the costs of transfers and submodels in the greedy decisions.
        """
        n, traffic = table.n_groups, table.traffic
        self._table = table
        self._work = np.where(problem.allowed, table.group_ms, np.inf)
        self._transfer = weight * table.transfer_ms()
        self._submodel = weight * table.submodel_ms
        self._order: list[int] = problem.group_order.tolist()
        position = np.argsort(problem.group_order)
        self._forward = position[table.edges[0]] < position[table.edges[1]]
        self._edges_at = _rows_of(n, table.edges[0], table.edges[1])
        self._reads = [traffic.tensor_of[rows] for rows in _rows_of(n, traffic.readers)]
        self._writes = _rows_of(n, traffic.source)
        self._readers = np.split(traffic.readers, traffic.starts[1:])

    def look_ahead(self) -> FloatArray:
        """Return the least latency in ms that the readers of each group, and theirs, add by its device, `[G, D]`.

        A reader with several inputs is counted in equal shares at each of them, as if the other inputs were on the best
        device. On a chain the look-ahead is exact.
        """
        source, target = self._table.edges
        shares = 1 / np.maximum(1, np.bincount(target[self._forward], minlength=self._table.n_groups))
        edge_ms = self._edge_ms()
        ahead = np.zeros_like(self._work)
        for group in reversed(self._order):
            for edge in self._edges_at[group]:
                if self._forward[edge] and source[edge] == group:
                    reader = target[edge]
                    then = shares[reader] * (self._work + ahead)[reader]
                    ahead[group] += (edge_ms[edge] + shares[reader] * self._new_submodel() + then).min(axis=1)
        return ahead

    def in_order(self, ahead: FloatArray, noise: FloatArray) -> IntArray | None:
        """Place the groups in topological order.

        Args:
            ahead: look-ahead of each group on each device, ms, `[G, D]`.
            noise: factor on the added latency in each decision, `[G, D]`.

        Returns:
            Device of each group, `[G]`; None when the memory of the devices runs out.
        """
        placed = PartialPlacement(self._table)
        for group in self._order:
            added = self.added_ms(group, placed) + ahead[group]
            device = int((added * noise[group]).argmin())
            if not np.isfinite(added[device]):
                return None
            placed.put(group, device)
        return placed.device_of

    def ready_first(self, ahead: FloatArray) -> IntArray | None:
        """Place the groups by taking the ready group that adds least latency first.

        Args:
            ahead: look-ahead of each group on each device, ms, `[G, D]`.

        Returns:
            Device of each group, `[G]`; None when the memory of the devices runs out.
        """
        placed = PartialPlacement(self._table)
        source, target = self._table.edges[:, self._forward]
        waiting = np.bincount(target, minlength=self._table.n_groups)
        readers = [target[edges] for edges in _rows_of(self._table.n_groups, source)]
        ready = [group for group in self._order if not waiting[group]]
        while ready:
            added = np.stack([self.added_ms(group, placed) for group in ready]) + ahead[ready]
            at, device = np.unravel_index(int(added.argmin()), added.shape)
            if not np.isfinite(added[at, device]):
                return None
            group = ready.pop(int(at))
            placed.put(group, int(device))
            waiting[readers[group]] -= 1
            ready += [int(reader) for reader in readers[group] if not waiting[reader]]
        return placed.device_of

    def added_ms(self, group: int, placed: PartialPlacement) -> FloatArray:
        """Return the latency that a group adds to a partial placement on each device, `[D]`.

        Args:
            group: a group that is not placed yet.
            placed: the groups placed so far.

        Returns:
            Time of the group, transfers and the overhead of a new submodel, less fusion savings, in ms; infinite where
            the device cannot run it or its memory is full.
        """
        table, where = self._table, placed.device_of
        added = np.where(placed.used_bytes + table.group_bytes[group] <= table.memory_bytes, self._work[group], np.inf)
        near = np.zeros(table.n_devices, dtype=bool)
        for edge in self._edges_at[group]:
            one, other = table.edges[:, edge]
            neighbour = where[other if one == group else one]
            if neighbour >= 0:
                near[neighbour] = True
                added[neighbour] -= table.saving_ms[edge, neighbour]
        return added + self._transfer_ms(group, where) + np.where(near, 0.0, self._submodel)

    def _transfer_ms(self, group: int, where: IntArray) -> FloatArray:
        """Return the cost of transfers between a group on each device and the placed groups, `[D]`."""
        moved = np.zeros(self._table.n_devices)
        for tensor in self._reads[group]:
            home, there = where[self._table.traffic.source[tensor]], where[self._readers[tensor]]
            if home >= 0:
                missing = np.ones(self._table.n_devices)
                missing[there[there >= 0]] = 0
                moved += missing * self._transfer[tensor, home]
        for tensor in self._writes[group]:  # its readers are placed already only where groups form a cycle
            there = np.unique(where[self._readers[tensor]])
            moved += self._transfer[tensor][:, there[there >= 0]].sum(axis=1)
        return moved

    def _edge_ms(self) -> FloatArray:
        """Return the cost of each edge with its ends on each pair of devices, `[Q, D, D]`."""
        table = self._table
        cost = -table.saving_ms[:, :, None] * np.eye(table.n_devices)
        np.add.at(cost, table.edge_of_readers(), self._transfer[table.traffic.tensor_of])
        return np.asarray(cost)

    def _new_submodel(self) -> FloatArray:
        """Return the overhead of the submodel of a reader on each pair of devices, `[D, D]`."""
        return np.asarray(self._submodel * (1 - np.eye(self._table.n_devices)))


class PartialPlacement:
    """The groups placed so far.

    Attributes:
        device_of: device of each group, -1 for groups not placed yet, `[G]`.
        used_bytes: bytes used on each device, `[D]`.
    """

    def __init__(self, table: CostTable) -> None:
        """Start with no group placed."""
        self.device_of: IntArray = np.full(table.n_groups, -1, dtype=np.int64)
        self.used_bytes = np.zeros(table.n_devices)
        self._group_bytes = table.group_bytes

    def put(self, group: int, device: int) -> None:
        """Place a group.

        Args:
            group: index of the group.
            device: index of its device.
        """
        self.device_of[group] = device
        self.used_bytes[device] += self._group_bytes[group]


def _rows_of(n: int, *columns: IntArray) -> list[IntArray]:
    """Return the rows in which each of n groups occurs in any of the columns."""
    found: list[list[int]] = [[] for _ in range(n)]
    for column in columns:
        for row, group in enumerate(column.tolist()):
            found[group].append(row)
    return [np.array(rows, dtype=np.int64) for rows in found]
