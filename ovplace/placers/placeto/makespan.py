"""Latency of one inference on a machine whose devices run in parallel, for comparison with the literature only.

OpenVINO's HETERO runs its submodels one after another (`cost/evaluate/latency.py`).
"""

from __future__ import annotations

import heapq

import numpy as np

from ovplace.core.cost_table import CostTable
from ovplace.graphs.op_graph import FloatArray, IntArray


def makespan_ms(table: CostTable, device_of: IntArray, order: IntArray) -> FloatArray:
    """Return the completion time of the last group under each placement.

    A device runs one group at a time in the order in which their inputs arrive, ties by `order`, and has one outgoing
    queue of transfers. A tensor is sent once to all devices that read it, in the time to the slowest of them. The time
    of a group is reduced by the savings of running on its predecessors' device. Submodels have no overhead.

    Source: Placeto, arXiv 1906.08879, and its published simulator.

    Args:
        table: the costs.
        device_of: device of each group under each placement, `[B, G]`.
        order: the groups in topological order, `[G]`; on a cycle, inputs from later groups are not waited for.

    Returns:
        Completion times, ms `[B]`.
    """
    machine = _ParallelMachine(table, order)
    return np.array([machine.run(placement) for placement in device_of], dtype=np.float64)


class _ParallelMachine:
    """The data that all placements share."""

    def __init__(self, table: CostTable, order: IntArray) -> None:
        self._table, traffic = table, table.traffic
        self._rank = np.empty(table.n_groups, dtype=np.int64)
        self._rank[order] = np.arange(table.n_groups)
        tensor = traffic.tensor_of
        later = self._rank[traffic.source[tensor]] < self._rank[traffic.readers]
        self._readers: list[list[int]] = [[] for _ in traffic.source]
        for number, reader in zip(tensor[later].tolist(), traffic.readers[later].tolist(), strict=True):
            self._readers[number].append(reader)
        self._written: list[list[int]] = [[] for _ in range(table.n_groups)]
        for number, source in enumerate(traffic.source.tolist()):
            self._written[source].append(number)
        self._inputs = np.bincount(traffic.readers[later], minlength=table.n_groups)
        self._transfer = table.transfer_ms()

    def run(self, placement: IntArray) -> float:
        """Return the completion time; events are (time, rank, group): an input of the group has arrived."""
        work, waiting = self._work(placement), self._inputs.copy()
        free, sending = np.zeros(self._table.n_devices), np.zeros(self._table.n_devices)
        ready = [(0.0, int(self._rank[g]), int(g)) for g in np.flatnonzero(waiting == 0)]
        heapq.heapify(ready)
        end = 0.0
        while ready:
            time, _, group = heapq.heappop(ready)
            if waiting[group] > 0:
                waiting[group] -= 1
                if waiting[group] > 0:
                    continue
            device = int(placement[group])
            done = free[device] = max(time, free[device]) + work[group]
            end = max(end, done)
            for tensor in self._written[group]:
                self._transfer_tensor(tensor, done, placement, sending, ready)
        return float(end)

    def _work(self, placement: IntArray) -> FloatArray:
        """Return the time of each group reduced by the savings of its incoming edges, ms `[G]`."""
        table, groups = self._table, np.arange(self._table.n_groups)
        source, target = table.edges
        device = placement[target]
        together = (placement[source] == device) & (self._rank[source] < self._rank[target])
        saved = np.where(together, table.saving_ms[np.arange(len(source)), device], 0.0)
        return np.asarray(np.maximum(table.group_ms[groups, placement] - np.bincount(target, saved, len(groups)), 0.0))

    def _transfer_tensor(
        self,
        tensor: int,
        done: float,
        placement: IntArray,
        sending: FloatArray,
        ready: list[tuple[float, int, int]],
    ) -> None:
        """Queue the arrival of a tensor at its readers: immediately on its own device, else after the transfer."""
        home, readers = int(placement[self._table.traffic.source[tensor]]), self._readers[tensor]
        away = [int(placement[reader]) for reader in readers if placement[reader] != home]
        if away:
            sending[home] = max(done, sending[home]) + self._transfer[tensor, home, away].max()
        for reader in readers:
            arrival = done if placement[reader] == home else float(sending[home])
            heapq.heappush(ready, (arrival, int(self._rank[reader]), reader))
