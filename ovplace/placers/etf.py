"""A greedy list placer in the manner of Baechi's m-ETF, for requests whose submodels run one after another."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ovplace.core.cost_table import CostTable
from ovplace.core.problem import Problem
from ovplace.graphs.op_graph import FloatArray, IntArray
from ovplace.placers._base.ranked import RankedPlacer, costs_of
from ovplace.seeds import generator

SUMMARY = "greedy list placing in the manner of Baechi's m-ETF, with and without a look ahead"


@dataclass(frozen=True)
class Config:
    """Settings.

    Attributes:
        weights: what moving to another device counts in the greedy decisions, times what it costs.
        draws: further proposals, for each weight, in which each decision's costs are off by a random factor.
        noise: standard deviation of the logarithm of that factor.
    """

    weights: tuple[float, ...] = (1.0, 0.5, 2.0, 4.0)
    draws: int = 4
    noise: float = 0.2

    def __post_init__(self) -> None:
        """Check the ranges."""
        if not self.weights or min(self.weights) < 0 or self.draws < 0 or self.noise < 0:
            raise ValueError("weights must be non-negative numbers, draws and noise at least 0")


class Placer(RankedPlacer):
    """Places group after group where it adds least, and never moves it again.

    Each proposal takes the groups in topological order, or the ready group that adds least first, and sends each to
    the device with room for it where it adds least: its time, the transfer of inputs that are not there yet, the
    overhead of a submodel if no neighbour is there, less what it saves with the neighbours that are. With a look ahead
    it also counts what its readers will then cost at best; on a chain that is exact.

    m-ETF (Jeon et al., "Baechi: fast device placement of machine learning graphs", SoCC 2020) takes the ready task and
    the device with the earliest start time, since its devices work at the same time. One request of HETERO runs its
    submodels in sequence, so there is no start time to gain: the added latency takes its place. Kept are the list
    order, the greedy choice and the memory limit; a device that is full is passed over. Not in m-ETF: fusion savings,
    submodels, the look ahead, and that several proposals are made to be measured.
    """

    def __init__(self, problem: Problem, config: Config) -> None:
        """Make all proposals."""
        super().__init__(problem, _proposals(problem, costs_of(problem), config))


def _proposals(problem: Problem, table: CostTable, config: Config) -> Iterator[IntArray]:
    rng = generator(problem.seed, "placer", "etf")
    certain = np.ones((table.n_groups, table.n_devices))
    for weight in config.weights:
        pass_ = _Greedy(problem, table, weight)
        ahead = pass_.look_ahead()
        found = [pass_.in_order(ahead * scale, certain) for scale in (0, 1)] + [pass_.ready_first(ahead * 0)]
        for draw in range(config.draws):
            noise = np.exp(config.noise * rng.standard_normal(certain.shape))
            found.append(pass_.in_order(ahead * (draw % 2), noise))
        yield from (choice for choice in found if choice is not None)


class _Greedy:
    """The tables of greedy passes over one problem at one weight of moving."""

    def __init__(self, problem: Problem, table: CostTable, weight: float) -> None:
        n, traffic = table.n_groups, table.traffic
        self._table = table
        self._work = np.where(problem.allowed, table.group_ms, np.inf)
        self._transfer = weight * table.transfer_ms()
        self._submodel = weight * table.submodel_ms
        self._order: list[int] = problem.group_order.tolist()
        position = np.argsort(problem.group_order)
        self._forward = position[table.edges[0]] < position[table.edges[1]]
        self._edges_at = _listed(n, table.edges[0], table.edges[1])
        self._reads = [traffic.tensor_of[rows] for rows in _listed(n, traffic.readers)]
        self._writes = _listed(n, traffic.source)
        self._readers = np.split(traffic.readers, traffic.starts[1:])

    def look_ahead(self) -> FloatArray:
        """Return what the readers of each group, and theirs, add at best if it is on each device, `[G, D]`.

        A reader with several inputs is counted in equal parts at each, as if the others were where it wants them.
        """
        source, target = self._table.edges
        shares = 1 / np.maximum(1, np.bincount(target[self._forward], minlength=self._table.n_groups))
        between = self._between()
        ahead = np.zeros_like(self._work)
        for group in reversed(self._order):
            for edge in self._edges_at[group]:
                if self._forward[edge] and source[edge] == group:
                    reader = target[edge]
                    then = shares[reader] * (self._work + ahead)[reader]
                    ahead[group] += (between[edge] + shares[reader] * self._new_submodel() + then).min(axis=1)
        return ahead

    def in_order(self, ahead: FloatArray, noise: FloatArray) -> IntArray | None:
        """Return the device of each group `[G]`, placed in topological order; None where memory runs out."""
        state = _State(self._table)
        for group in self._order:
            added = self._added(group, state) + ahead[group]
            device = int((added * noise[group]).argmin())
            if not np.isfinite(added[device]):
                return None
            state.put(group, device)
        return state.device_of

    def ready_first(self, ahead: FloatArray) -> IntArray | None:
        """Return the same, placed by taking the ready group that adds least."""
        state = _State(self._table)
        source, target = self._table.edges[:, self._forward]
        waiting = np.bincount(target, minlength=self._table.n_groups)
        readers = [target[edges] for edges in _listed(self._table.n_groups, source)]
        ready = [group for group in self._order if not waiting[group]]
        while ready:
            added = np.stack([self._added(group, state) for group in ready]) + ahead[ready]
            at, device = np.unravel_index(int(added.argmin()), added.shape)
            if not np.isfinite(added[at, device]):
                return None
            group = ready.pop(int(at))
            state.put(group, int(device))
            waiting[readers[group]] -= 1
            ready += [int(reader) for reader in readers[group] if not waiting[reader]]
        return state.device_of

    def _added(self, group: int, state: _State) -> FloatArray:
        """Return what a group adds on each device to what is placed, `[D]`; infinite where it cannot be."""
        table, where = self._table, state.device_of
        added = np.where(state.used + table.group_bytes[group] <= table.memory_bytes, self._work[group], np.inf)
        near = np.zeros(table.n_devices, dtype=bool)
        for edge in self._edges_at[group]:
            one, other = table.edges[:, edge]
            neighbour = where[other if one == group else one]
            if neighbour >= 0:
                near[neighbour] = True
                added[neighbour] -= table.saving_ms[edge, neighbour]
        return added + self._moved(group, where) + np.where(near, 0.0, self._submodel)

    def _moved(self, group: int, where: IntArray) -> FloatArray:
        """Return the transfers between a group on each device and what is placed, `[D]`."""
        moved = np.zeros(self._table.n_devices)
        for tensor in self._reads[group]:
            home, there = where[self._table.traffic.source[tensor]], where[self._readers[tensor]]
            if home >= 0:
                missing = np.ones(self._table.n_devices)
                missing[there[there >= 0]] = 0
                moved += missing * self._transfer[tensor, home]
        for tensor in self._writes[group]:  # read by a group that is placed already: only where groups form a cycle
            there = np.unique(where[self._readers[tensor]])
            moved += self._transfer[tensor][:, there[there >= 0]].sum(axis=1)
        return moved

    def _between(self) -> FloatArray:
        """Return what each edge costs with its ends on each pair of devices, `[Q, D, D]`."""
        table, traffic = self._table, self._table.traffic
        keys = table.edges[0] * table.n_groups + table.edges[1]
        order = np.argsort(keys)
        wanted = traffic.source[traffic.tensor_of] * table.n_groups + traffic.readers
        cost = -table.saving_ms[:, :, None] * np.eye(table.n_devices)
        np.add.at(cost, order[np.searchsorted(keys[order], wanted)], self._transfer[traffic.tensor_of])
        return np.asarray(cost)

    def _new_submodel(self) -> FloatArray:
        return np.asarray(self._submodel * (1 - np.eye(self._table.n_devices)))


class _State:
    """What is placed so far: the device of each group `[G]`, -1 for none, and the bytes used on each `[D]`."""

    def __init__(self, table: CostTable) -> None:
        self.device_of: IntArray = np.full(table.n_groups, -1, dtype=np.int64)
        self.used = np.zeros(table.n_devices)
        self._bytes = table.group_bytes

    def put(self, group: int, device: int) -> None:
        self.device_of[group] = device
        self.used[device] += self._bytes[group]


def _listed(n: int, *columns: IntArray) -> list[IntArray]:
    """Return for each of n groups the rows in which it stands, in one column or another."""
    found: list[list[int]] = [[] for _ in range(n)]
    for column in columns:
        for row, group in enumerate(column.tolist()):
            found[group].append(row)
    return [np.array(rows, dtype=np.int64) for rows in found]
