"""The time of one inference on a machine whose devices work side by side: for comparison with the literature only.

OpenVINO's HETERO runs its submodels one after another (`cost/model.py`), so that nothing here is gained by it.
"""

from __future__ import annotations

import heapq

import numpy as np

from ovplace.core.cost_table import CostTable
from ovplace.graphs.op_graph import FloatArray, IntArray


def makespan_ms(table: CostTable, device_of: IntArray, order: IntArray) -> FloatArray:
    """Return when the last group is done under placements `[B, G]`, ms `[B]`.

    A device runs one group at a time, in the order in which their inputs arrived, ties by `order`. It has one outgoing
    queue of transfers beside that; a tensor is sent once, to all devices that read it, and takes as long as to the
    slowest of them. A group takes its time less what it saves by running where its predecessors ran. Overheads of
    submodels do not count: there are none.

    Args:
        table: the costs.
        device_of: device of each group under each placement, `[B, G]`.
        order: the groups in topological order, `[G]`; on a cycle of groups, inputs from later ones are not waited for.

    Source: Placeto, arXiv 1906.08879, and its published simulator.
    """
    machine = _Machine(table, order)
    return np.array([machine.run(placement) for placement in device_of], dtype=np.float64)


class _Machine:
    """What is the same for all placements."""

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
        """Return the time of the last event; events are (time, rank, group): an input or all of them have arrived."""
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
                self._pass_on(tensor, done, placement, sending, ready)
        return float(end)

    def _work(self, placement: IntArray) -> FloatArray:
        """Return the time of each group less what its incoming edges save, `[G]`."""
        table, groups = self._table, np.arange(self._table.n_groups)
        source, target = table.edges
        device = placement[target]
        together = (placement[source] == device) & (self._rank[source] < self._rank[target])
        saved = np.where(together, table.saving_ms[np.arange(len(source)), device], 0.0)
        return np.asarray(np.maximum(table.group_ms[groups, placement] - np.bincount(target, saved, len(groups)), 0.0))

    def _pass_on(
        self,
        tensor: int,
        done: float,
        placement: IntArray,
        sending: FloatArray,
        ready: list[tuple[float, int, int]],
    ) -> None:
        """Let the readers of a tensor know when it arrives: at once on its own device, else when it was sent."""
        home, readers = int(placement[self._table.traffic.source[tensor]]), self._readers[tensor]
        away = [int(placement[reader]) for reader in readers if placement[reader] != home]
        if away:
            sending[home] = max(done, sending[home]) + self._transfer[tensor, home, away].max()
        for reader in readers:
            arrival = done if placement[reader] == home else float(sending[home])
            heapq.heappush(ready, (arrival, int(self._rank[reader]), reader))
