"""Adjacency of a graph in the forms that graph layers need, each computed once."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import torch
from torch import Tensor
from torch_geometric.nn.conv.gcn_conv import gcn_norm

from ovplace.graphs.op_graph import IntArray


@dataclass(frozen=True, eq=False)
class Adjacency:
    """The edges of a graph.

    Attributes:
        edges: directed edges, `[2, E]`.
        n_nodes: number of nodes N.
        n_copies: number of equal graphs that it is the disjoint union of.
    """

    edges: IntArray
    n_nodes: int
    n_copies: int = 1
    _copies: dict[int, Adjacency] = field(default_factory=dict, repr=False)

    @cached_property
    def directed(self) -> Tensor:
        """The edges, `[2, E]`."""
        return torch.from_numpy(self.edges)

    @cached_property
    def bidirectional(self) -> Tensor:
        """Each edge in both directions, `[2, 2 E]`."""
        return torch.cat([self.directed, self.directed.flip(0)], dim=1)

    @cached_property
    def pairs(self) -> IntArray:
        """The distinct unordered pairs of different neighbours, `[2, Q]`, sorted."""
        return undirected_pairs(self.edges)

    @cached_property
    def normalised(self) -> Tensor:
        """The sparse matrix of GCN (Kipf and Welling 2017, equation 2), `[N, N]`: D^-1/2 (A + I) D^-1/2.

        In CSR form, whose product is faster than one message per edge.
        """
        ends, weights = gcn_norm(self.bidirectional, None, self.n_nodes, dtype=torch.float32)
        by_entry = torch.sparse_coo_tensor(ends.flip(0), weights, (self.n_nodes,) * 2, check_invariants=False)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Sparse", UserWarning)  # "in beta state", by torch, once
            return by_entry.coalesce().to_sparse_csr()

    def copies(self, count: int) -> Adjacency:
        """Return the disjoint union of `count` copies of this graph."""
        if count not in self._copies:
            starts = self.n_nodes * np.arange(count)
            edges = (self.edges[:, None, :] + starts[:, None]).reshape(2, -1)
            self._copies[count] = Adjacency(edges, self.n_nodes * count, count)
        return self._copies[count]

    def merged(self, labels: IntArray, n_groups: int) -> Adjacency:
        """Return the quotient graph: distinct directed edges between different groups.

        Args:
            labels: group of each node, `[N]`.
            n_groups: number of groups.
        """
        between = labels[self.edges]
        return Adjacency(np.unique(between[:, between[0] != between[1]], axis=1), n_groups)

    def undirected(self) -> Adjacency:
        """Return the graph with one edge for each pair of neighbours, also where edges lead in both directions."""
        return Adjacency(self.pairs, self.n_nodes)


def undirected_pairs(edges: IntArray) -> IntArray:
    """Return the distinct unordered pairs of different nodes joined by directed edges `[2, E]`, `[2, Q]`, sorted."""
    low, high = edges.min(axis=0), edges.max(axis=0)
    different = low != high
    return np.unique(np.stack([low, high])[:, different], axis=1).astype(np.int64)
