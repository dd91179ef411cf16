"""No coarsening: the legal groups as they are."""

from __future__ import annotations

from dataclasses import dataclass

from ovplace.core.partition import Partition
from ovplace.graphs.op_graph import OpGraph
from ovplace.plugins import protocols

SUMMARY = "the legal groups as they are"


@dataclass(frozen=True)
class Config:
    """There is nothing to set."""


class Coarsener(protocols.Coarsener):
    """Groups nothing further."""

    def coarsen(self, graph: OpGraph, legal: Partition) -> Partition:
        """Return `legal`."""
        return legal
