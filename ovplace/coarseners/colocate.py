"""Co-location heuristic of HSDAG: chains are merged."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ovplace.core.partition import Partition
from ovplace.graphs.colocation import colocation
from ovplace.graphs.dag import connected_labels
from ovplace.graphs.op_graph import BoolArray, OpGraph
from ovplace.plugins import protocols

SUMMARY = "co-location heuristic of HSDAG: merges chains"

NODES = ("groups", "operations")


@dataclass(frozen=True)
class Config:
    """Settings of the heuristic.

    Attributes:
        nodes: what forms chains: the inseparable `groups`, or single `operations`, as published; a group then joins all
            chains that it has operations of.
    """

    nodes: str = "groups"

    def __post_init__(self) -> None:
        """Check the choice."""
        if self.nodes not in NODES:
            raise ValueError(f"nodes must be one of {', '.join(NODES)}, got '{self.nodes}'")


class Coarsener(protocols.Coarsener):
    """Merges each chain into one group."""

    def coarsen(self, graph: OpGraph, legal: Partition, allowed: BoolArray) -> Partition:
        """Return the legal groups with every chain merged.

        Args:
            graph: the prepared model, N operations.
            legal: the groups that HETERO can place one by one.
            allowed: not used.
        """
        if self.config.nodes == "operations":
            return _joined(legal, Partition.from_labels(colocation(len(graph), graph.edges)))
        quotient = legal.quotient(graph)
        return legal.then(Partition.from_labels(colocation(quotient.n_groups, quotient.edges)))


def _joined(one: Partition, other: Partition) -> Partition:
    """Return the finest partition in which the groups of both stay whole."""
    shared = np.stack([one.group_of, one.n_groups + other.group_of])
    return Partition.from_labels(connected_labels(one.n_groups + other.n_groups, shared)[one.group_of])
