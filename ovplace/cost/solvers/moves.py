"""The placements beside one: those that differ by the device of one group or of one submodel."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ovplace.core.cost_table import CostTable
from ovplace.cost.evaluate.submodels.counts import submodels_of_groups
from ovplace.graphs.op_graph import IntArray


@dataclass(frozen=True, eq=False)
class Moves:
    """All M moves from a placement: to one device after the other, each of the groups, then each of the submodels.

    They are made as they are asked for: all of 10,000 groups on two devices would take gigabytes.

    Attributes:
        device_of: the placement, `[G]`.
        submodel: the submodel of each group, its lowest one, `[G]`.
        n_devices: number of devices.
    """

    device_of: IntArray
    submodel: IntArray
    n_devices: int

    @classmethod
    def of(cls, table: CostTable, device_of: IntArray) -> Moves:
        """Return the moves from a placement.

        Args:
            table: the costs.
            device_of: device of each group, `[G]`.
        """
        return cls(device_of, submodels_of_groups(table.n_groups, table.edges, device_of[None])[0], table.n_devices)

    def __len__(self) -> int:
        """Return their number, `M`."""
        return self.n_devices * len(self._lowest)

    @property
    def units(self) -> tuple[IntArray, IntArray]:
        """What is moved together, by its lowest group, `[G]` each: single groups, and submodels."""
        return np.arange(len(self.device_of)), self.submodel

    @cached_property
    def _lowest(self) -> IntArray:
        """The lowest group of each single group and of each submodel, `[U]`."""
        return np.concatenate([np.unique(unit) for unit in self.units])

    @property
    def distinct(self) -> IntArray:
        """Numbers of the moves but those that end where an earlier one does: submodels of one group, and staying."""
        n = len(self.device_of)
        is_single_again = np.bincount(self.submodel, minlength=n)[self._lowest] == 1
        is_single_again[:n] = False
        stays = np.arange(self.n_devices)[:, None] == self.device_of[self._lowest]
        found = ~(stays | is_single_again).ravel()
        found[stays.argmax()] = True
        return np.flatnonzero(found)

    def rows(self, which: IntArray) -> IntArray:
        """Return the placements after some moves, `[B, G]`.

        Args:
            which: numbers of the moves, `[B]`.
        """
        device, unit = np.divmod(which, len(self._lowest))
        groups, submodel = self.units
        label = np.where((unit < len(groups))[:, None], groups, submodel)
        return np.where(label == self._lowest[unit][:, None], device[:, None], self.device_of)
