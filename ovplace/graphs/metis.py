"""METIS, through pymetis (extra `partition`): balanced parts of a weighted graph with little between them.

Source: Karypis and Kumar, "A fast and high quality multilevel scheme for partitioning irregular graphs", SIAM J. Sci.
Comput. 20, 1998.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ovplace.errors import OvplaceError
from ovplace.graphs.op_graph import BoolArray, FloatArray, IntArray

_UNITS = 10_000
"""METIS weighs by integers; the heaviest node, or edge, gets this many."""


class WeightedGraph:
    """An undirected graph to be cut."""

    def __init__(self, node_weight: FloatArray, ends: IntArray, edge_weight: FloatArray, seed: int) -> None:
        """Add up the weights of parallel edges, and round all.

        Args:
            node_weight: weight of each node, `[N]`.
            ends: the nodes at both ends of each edge, in either direction, `[2, E]`; edges to oneself do not count.
            edge_weight: cost of cutting each edge, `[E]`.
            seed: seed of METIS.

        Raises:
            OvplaceError: pymetis is not installed.
        """
        self._metis, self._seed, n = _metis(), seed, len(node_weight)
        low, high = np.sort(ends, axis=0)
        between = low != high
        pairs, which = np.unique((low * n + high)[between], return_inverse=True)
        summed = np.bincount(which, weights=edge_weight[between], minlength=len(pairs)).astype(np.float64)
        self._ends = np.stack([pairs // n, pairs % n])
        self._node = _integers(node_weight)
        self._edge = np.maximum(1, _integers(summed))

    def parts(self, shares: FloatArray) -> IntArray:
        """Return the part of each node, `[N]`, each with about its share of the weight, by repeated bisection.

        METIS itself would split into more than two; where a part comes out empty it then writes to standard output.
        """
        part = np.zeros(len(self._node), dtype=np.int64)
        self._split(np.arange(len(part)), shares, 0, part)
        return part

    def _split(self, nodes: IntArray, shares: FloatArray, first: int, part: IntArray) -> None:
        """Write the parts of `nodes`, numbered from `first`."""
        half = len(shares) // 2
        if not half:
            part[nodes] = first
            return
        taken = self._bisected(nodes, float(shares[:half].sum() / shares.sum()))
        self._split(nodes[taken], shares[:half], first, part)
        self._split(nodes[~taken], shares[half:], first + half, part)

    def _bisected(self, nodes: IntArray, share: float) -> BoolArray:
        """Return which of `nodes` make up about `share` of their weight, `[len(nodes)]`."""
        if len(nodes) < 2:
            return np.full(len(nodes), share > 0.5)
        position = np.full(len(self._node), -1)
        position[nodes] = np.arange(len(nodes))
        ends = position[self._ends]
        inside = (ends >= 0).all(axis=0)
        (first, second), weight = ends[:, inside], self._edge[inside]
        source, target = np.concatenate([first, second]), np.concatenate([second, first])
        order = np.argsort(source, kind="stable")
        found = self._metis.part_graph(
            2,
            self._metis.CSRAdjacency(
                np.searchsorted(source[order], np.arange(len(nodes) + 1)).tolist(), target[order].tolist()
            ),
            vweights=self._node[nodes].tolist(),
            eweights=np.tile(weight, 2)[order].tolist(),
            tpwgts=[share, 1 - share],
            options=self._metis.Options(seed=self._seed),
        )
        return np.asarray(np.array(found.vertex_part) == 0)


def _integers(weights: FloatArray) -> IntArray:
    return np.asarray(np.rint(_UNITS * weights / max(weights.max(initial=0.0), 1e-300)), dtype=np.int64)


def _metis() -> Any:
    try:
        import pymetis
    except ImportError as error:
        raise OvplaceError("METIS is not installed; pip install 'ovplace[partition]'") from error
    return pymetis
