"""The co-location heuristic of HSDAG: what follows only one thing, which feeds nothing else, goes with it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ovplace.core.partition import Partition
from ovplace.graphs.dag import connected_labels
from ovplace.graphs.op_graph import IntArray, OpGraph
from ovplace.plugins import protocols

SUMMARY = "HSDAG's co-location: chains become one group"


@dataclass(frozen=True)
class Config:
    """There is nothing to set: the heuristic has no parameters."""


class Coarsener(protocols.Coarsener):
    """Applies the heuristic to the graph of the legal groups."""

    def coarsen(self, graph: OpGraph, legal: Partition) -> Partition:
        """Return the legal groups with every chain of them merged."""
        quotient = legal.quotient(graph)
        return legal.then(Partition.from_labels(colocation(quotient.n_groups, quotient.edges)))


def colocation(n: int, edges: IntArray) -> IntArray:
    """Return the co-location set of each node, `[n]`.

    Nodes i and j share a set when j is the only child of i and i is the only parent of j; so whole chains merge, and
    the graph of the sets of an acyclic graph is acyclic. A node that reads another twice is still its only child.

    Args:
        n: number of nodes.
        edges: `[2, E]`, parallel edges allowed.

    Source: Duan et al., "A structure-aware framework for learning device placements on computation graphs"
    (HSDAG), NeurIPS 2024, appendix G.

    Cost: O(n + E log E).
    """
    distinct = np.unique(edges, axis=1)
    only_child = np.bincount(distinct[0], minlength=n)[distinct[0]] == 1
    only_parent = np.bincount(distinct[1], minlength=n)[distinct[1]] == 1
    return connected_labels(n, distinct[:, only_child & only_parent])
