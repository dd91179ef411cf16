"""Which groups come before which, whatever their devices: by this order HETERO cuts regions apart."""

from __future__ import annotations

from functools import cached_property, lru_cache

import numpy as np

from ovplace.cost.evaluate.submodels.remembered import Remembered
from ovplace.graphs.dag import strong_labels, topological_rank
from ovplace.graphs.op_graph import BoolArray, IntArray

_MOST_REMEMBERED = 2_000_000
"""Largest number of remembered placements, and of remembered regions, times groups: some tens of megabytes each."""


class Precedence:
    """The edges that order groups, and those on a cycle of groups, which order nothing.

    Attributes:
        n_groups: number of groups G.
        edges: edges that order groups, target by target in topological order, `[2, F]`.
        loose: the others, `[2, L]`.
        steps: `edges` as pairs, `[F]`.
        starts: position of the first edge into each group that has any, `[T]`.
        targets: those groups, `[T]`.
        placements: the submodels of placements looked at before, by the bytes of their devices, `[G]` each.
        regions: the edges cut in regions looked at before, and the groups parted from their constants, by the bytes of
            their groups.
    """

    def __init__(self, n_groups: int, edges: IntArray) -> None:
        """Order the groups.

        Args:
            n_groups: number of groups G.
            edges: directed pairs of neighbouring groups, `[2, Q]`.
        """
        component = strong_labels(n_groups, edges)
        orders = component[edges[0]] != component[edges[1]]
        rank = topological_rank(n_groups, edges[:, orders])
        self.n_groups, self.loose = n_groups, edges[:, ~orders]
        self.edges = edges[:, orders][:, np.argsort(rank[edges[1, orders]], kind="stable")]
        self.steps: list[tuple[int, int]] = [(a, b) for a, b in self.edges.T.tolist()]
        self.starts = np.flatnonzero(np.diff(self.edges[1], prepend=-1))
        self.targets = self.edges[1, self.starts]
        most = _MOST_REMEMBERED // max(n_groups, 1)
        self.placements, self.regions = Remembered[IntArray](most), Remembered[tuple[IntArray, IntArray]](most)

    @cached_property
    def readers(self) -> IntArray:
        """Number of groups that read each group, `[G]`."""
        return np.bincount(self.edges[0], minlength=self.n_groups)

    @cached_property
    def leaves(self) -> BoolArray:
        """Groups that read no other group and have one reader, `[G]`."""
        return np.asarray((self.readers == 1) & (np.bincount(self.edges[1], minlength=self.n_groups) == 0))

    @cached_property
    def upstream(self) -> list[int]:
        """Each group with all that it depends on, as a bit mask over groups, `[G]`."""
        masks = [1 << group for group in range(self.n_groups)]
        for source, target in self.steps:
            masks[target] |= masks[source]
        return masks


def precedence(n_groups: int, edges: IntArray) -> Precedence:
    """Return the precedence that edges give; a search asks for that of the same few thousands of times.

    Args:
        n_groups: number of groups G.
        edges: directed pairs of neighbouring groups, `[2, Q]`.
    """
    return _precedence(n_groups, np.asarray(edges, dtype=np.int64).tobytes())


@lru_cache(maxsize=8)
def _precedence(n_groups: int, edges: bytes) -> Precedence:
    return Precedence(n_groups, np.frombuffer(edges, dtype=np.int64).reshape(2, -1))
