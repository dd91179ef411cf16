"""Co-location heuristic of HSDAG: chains of groups are merged."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ovplace.core.partition import Partition
from ovplace.graphs.dag import connected_labels
from ovplace.graphs.op_graph import IntArray, OpGraph
from ovplace.plugins import protocols

SUMMARY = "co-location heuristic of HSDAG: merges chains"


@dataclass(frozen=True)
class Config:
    """No settings."""


class Coarsener(protocols.Coarsener):
    """Merges each chain of legal groups into one group."""

    def coarsen(self, graph: OpGraph, legal: Partition) -> Partition:
        """Return the legal groups with every chain merged.

        Args:
            graph: the prepared model, N operations.
            legal: the groups that HETERO can place one by one.
        """
        quotient = legal.quotient(graph)
        return legal.then(Partition.from_labels(colocation(quotient.n_groups, quotient.edges)))


def colocation(n: int, edges: IntArray) -> IntArray:
    """Return the co-location set of each node, `[n]`.

    Nodes i and j share a set if j is the only child of i and i is the only parent of j. Whole chains thus merge, and
    the graph of the sets is acyclic if the graph of the nodes is. Parallel edges count as one.

    Args:
        n: number of nodes.
        edges: source and target of each edge, `[2, E]`.

    Source: Duan et al., "A structure-aware framework for learning device placements on computation graphs"
    (HSDAG), NeurIPS 2024, appendix G.

    Cost: O(n + E log E).
    """
    distinct = np.unique(edges, axis=1)
    only_child = np.bincount(distinct[0], minlength=n)[distinct[0]] == 1
    only_parent = np.bincount(distinct[1], minlength=n)[distinct[1]] == 1
    return connected_labels(n, distinct[:, only_child & only_parent])
