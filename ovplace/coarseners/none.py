"""No coarsening."""

from __future__ import annotations

from dataclasses import dataclass

from ovplace.core.partition import Partition
from ovplace.graphs.op_graph import BoolArray, OpGraph
from ovplace.plugins import protocols

SUMMARY = "no coarsening: the inseparable groups as they are"


@dataclass(frozen=True)
class Config:
    """No settings."""


class Coarsener(protocols.Coarsener):
    """Leaves the legal groups as they are."""

    def coarsen(self, graph: OpGraph, legal: Partition, allowed: BoolArray) -> Partition:
        """Return the legal groups.

        Args:
            graph: the prepared model, N operations.
            legal: the groups that HETERO can place one by one.
            allowed: not used.
        """
        return legal
