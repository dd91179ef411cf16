"""A prepared model on a simulated machine: its costs, latencies without noise, and the optimum."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from ovplace.core.cost_table import CostTable
from ovplace.core.partition import Partition
from ovplace.core.placement import Placement
from ovplace.cost.evaluate.effective_devices import effective_devices, split_mixed_groups
from ovplace.cost.evaluate.latency import latency_ms
from ovplace.graphs.op_graph import FloatArray, OpGraph
from ovplace.ir.legal.groups import legal_groups
from ovplace.ir.read import own_name, read_graph
from ovplace.simulation.machine import SimulatedMachine
from ovplace.simulation.machine_file import load_machine


@dataclass(frozen=True)
class Place:
    """A prepared model on a simulated machine.

    Attributes:
        path: the prepared model.
        machine_name: name or file of the machine.
    """

    path: Path
    machine_name: str

    @cached_property
    def machine(self) -> SimulatedMachine:
        """The machine."""
        return load_machine(self.machine_name)

    @cached_property
    def graph(self) -> OpGraph:
        """The operations of the model."""
        return read_graph(self.path)

    @cached_property
    def legal(self) -> Partition:
        """The legal groups."""
        return legal_groups(self.graph)

    @cached_property
    def table(self) -> CostTable:
        """The costs of the legal groups."""
        return self.machine.table(self.graph, self.legal, own_name(self.path))

    def true_ms(self, placements: Sequence[Placement]) -> FloatArray:
        """Return the latencies of placements without noise, `[P]`."""
        return latency_ms(self.table, self.legal.lower(np.stack([placement.device_of for placement in placements])))

    def automatic_ms(self, placement: Placement) -> float:
        """Return the latency of any placement without noise, also of HETERO's own, which may divide a group."""
        partition, device_of = split_mixed_groups(self.legal, effective_devices(self.graph, placement.device_of))
        return float(latency_ms(self.machine.table(self.graph, partition, own_name(self.path)), device_of[None])[0])

    def alone_ms(self) -> dict[str, float]:
        """Return the latency of the whole model on each device; infinite where it does not run there."""
        found = latency_ms(self.table, self.table.uniform_choices()).tolist()
        return dict(zip(self.machine.names, found, strict=True))
