"""METIS partitioning: a number of groups of about equal size with few bytes between them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ovplace.core.partition import Partition
from ovplace.graphs.dag import topological_rank
from ovplace.graphs.metis import WeightedGraph
from ovplace.graphs.op_graph import BoolArray, IntArray, OpGraph
from ovplace.plugins import protocols

SUMMARY = "METIS partitioning: groups of about equal size with few bytes between them (extra 'partition')"


@dataclass(frozen=True)
class Config:
    """Settings of the partitioning.

    Attributes:
        groups: number of parts, at least 1. Parts that depend on each other are split, so that there may be more
            groups.
        seed: seed of METIS, at most 9223372036854775807.
    """

    groups: int = 64
    seed: int = 0

    def __post_init__(self) -> None:
        """Check the numbers."""
        if self.groups < 1:
            raise ValueError(f"groups must be at least 1, got {self.groups}")
        if not -(2**63) <= self.seed < 2**63:
            raise ValueError(f"seed must have at most 64 bits, got {self.seed}")


class Coarsener(protocols.Coarsener):
    """Partitions the graph of the legal groups; the weight of a group is its number of operations.

    Parts that depend on each other are split, so that the graph of the groups stays acyclic.

    Source: Karypis and Kumar, "A fast and high quality multilevel scheme for partitioning irregular graphs", SIAM J.
    Sci. Comput. 20, 1998. Mirhoseini et al. 2017 (arXiv 1706.04972) compare learned groups with such a partitioner,
    Scotch.
    """

    def coarsen(self, graph: OpGraph, legal: Partition, allowed: BoolArray) -> Partition:
        """Return the parts as groups of operations.

        Args:
            graph: the prepared model, N operations.
            legal: the groups that HETERO can place one by one.
            allowed: not used.

        Raises:
            OvplaceError: pymetis is not installed.
        """
        quotient, n = legal.quotient(graph), legal.n_groups
        if n <= self.config.groups:
            return legal
        n_bytes = graph.out_bytes.astype(np.float64)
        cut = WeightedGraph(quotient.sizes.astype(np.float64), legal.group_of[graph.edges], n_bytes, self.config.seed)
        part = cut.parts(np.ones(self.config.groups))
        if quotient.is_acyclic:
            part += self.config.groups * _phases(n, quotient.edges, part)
        return legal.then(Partition.from_labels(part))


def _phases(n: int, edges: IntArray, part: IntArray) -> IntArray:
    """Return the largest number of changes between parts on a path to each node, `[n]`.

    No edge leads to a lower phase, and edges to another part lead to a higher one. The graph of groups that are defined
    by part and phase is therefore acyclic.

    Args:
        n: number of nodes.
        edges: source and target of each edge of an acyclic graph, `[2, E]`.
        part: part of each node, `[n]`.
    """
    phase = np.zeros(n, dtype=np.int64)
    rank = topological_rank(n, edges)
    for source, target in edges[:, np.argsort(rank[edges[0]], kind="stable")].T.tolist():
        phase[target] = max(phase[target], phase[source] + (part[source] != part[target]))
    return phase
