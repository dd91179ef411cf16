"""The latency of all moves from a placement under the pairwise model: only what a move changes is added up anew.

Evaluating each placement by itself took half of a descent's time where there are 512 groups.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ovplace.core.cost_table import CostTable
from ovplace.cost.evaluate.folding import folded
from ovplace.cost.evaluate.latency import pairwise_ms
from ovplace.graphs.op_graph import BoolArray, FloatArray, IntArray


class PairwiseMoves:
    """Moves of units of groups from a placement; a unit's groups are on one device.

    Attributes:
        table: the costs, those of further terms folded into the basic ones.
        device_of: the placement, `[G]`.
        slot: position of each group's unit among the U units, `[G]`.
        device: device of each unit, `[U]`.
    """

    def __init__(self, table: CostTable, device_of: IntArray, unit: IntArray) -> None:
        """Number the units.

        Args:
            table: the costs.
            device_of: device of each group, `[G]`.
            unit: label of the unit of each group, the lowest group in it, `[G]`.
        """
        lowest, self.slot = np.unique(unit, return_inverse=True)
        self.table, self.device_of, self.device = folded(table), device_of, device_of[lowest]

    def latency_ms(self) -> FloatArray:
        """Return the latency after moving each unit to each device, ms `[U, D]`; infinite where a group cannot run."""
        table, runs = self.table, np.isfinite(self.table.group_ms)
        finite = replace(table, group_ms=np.where(runs, table.group_ms, 0.0))
        now_ms = pairwise_ms(finite, self.device_of[None])
        change_ms = self._change(self._of_groups(finite.group_ms) + self._transfers_ms() - self._savings_ms())
        failing = (~runs[np.arange(table.n_groups), self.device_of]).sum() + self._change(self._of_groups(~runs))
        return np.where(failing > 0, np.inf, now_ms + change_ms)

    def fit(self) -> BoolArray:
        """Return whether the memory of every device suffices after moving each unit to each device, `[U, D]`."""
        n_bytes = np.bincount(self.slot, weights=self.table.group_bytes)
        devices = np.eye(self.table.n_devices)
        moved = devices[None] - devices[self.device][:, None]  # unit, its new device, device
        used = self.table.used_bytes(self.device_of[None])[0] + n_bytes[:, None, None] * moved
        return np.asarray((used <= self.table.memory_bytes).all(axis=2))

    def _change(self, of_unit: FloatArray) -> FloatArray:
        """Return what units have on each device less what they have now, `[U, D]`."""
        return of_unit - np.take_along_axis(of_unit, self.device[:, None], axis=1)

    def _of_groups(self, of_group: NDArray[Any]) -> FloatArray:
        """Return the sums over the groups of each unit, `[U, D]`."""
        total = np.zeros((len(self.device), self.table.n_devices))
        np.add.at(total, self.slot, of_group)
        return total

    def _savings_ms(self) -> FloatArray:
        """Return what neighbours on one device save where a unit takes part, ms `[U, D]`."""
        edges, saving_ms = self.table.edges, self.table.saving_ms
        saved = np.zeros((len(self.device), self.table.n_devices))
        inside = self.slot[edges[0]] == self.slot[edges[1]]
        np.add.at(saved, self.slot[edges[0, inside]], saving_ms[inside])
        between = np.flatnonzero(~inside)
        for end, other in (edges[:, between], edges[::-1, between]):
            there = self.device_of[other]
            np.add.at(saved, (self.slot[end], there), saving_ms[between, there])
        return saved

    def _transfers_ms(self) -> FloatArray:
        """Return what the transfers of the tensors take that a unit writes or reads, ms `[U, D]`."""
        traffic, units, d = self.table.traffic, len(self.device), self.table.n_devices
        source, reader = self.slot[traffic.source], self.slot[traffic.readers]
        read = traffic.tensor_of * units + reader
        pairs = np.unique(np.concatenate([read, np.arange(len(source)) * units + source]))
        tensor, unit = np.divmod(pairs, units)
        count = np.zeros((len(source), d))
        np.add.at(count, (traffic.tensor_of, self.device_of[traffic.readers]), 1.0)
        own = np.bincount(np.searchsorted(pairs, read), minlength=len(pairs))
        elsewhere = count[tensor]
        elsewhere[np.arange(len(pairs)), self.device[unit]] -= own
        wanted = (elsewhere > 0)[:, None] | (own > 0)[:, None, None] & np.eye(d, dtype=bool)
        home = np.where((source[tensor] == unit)[:, None], np.arange(d), self.device_of[traffic.source[tensor], None])
        cost_ms = self.table.transfer_ms()[tensor[:, None], home]
        total = np.zeros((units, d))
        np.add.at(total, unit, np.where(wanted, cost_ms, 0.0).sum(axis=2))
        return total
