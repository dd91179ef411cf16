"""HETERO's cuts where data comes back to where it left, for many placements of groups at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ovplace.cost.evaluate.submodels.bit_sets import BitFields
from ovplace.cost.evaluate.submodels.precedence import Precedence
from ovplace.graphs.op_graph import BoolArray

_CHUNK_BITS = 32_000_000
"""Size of the largest sets at a time."""


def returning_cuts(order: Precedence, labels: NDArray[np.integer], joined: BoolArray) -> tuple[BoolArray, BoolArray]:
    """Return which edges one round cuts, `[F, A]`, and which groups it parts from their constants, `[G, A]`.

    The rule of `graphs.returning_edges`, where each group reads a constant of its own: then a boundary into a region
    lies before a group if the group at its end does, so that sets of groups do for sets of boundaries.

    Args:
        order: the edges that order groups.
        labels: region of each group under each placement, `[G, A]`.
        joined: edges that are not boundaries, `[F, A]`.
    """
    size = max(1, _CHUNK_BITS // max(1, order.n_groups**2))
    parts = [
        _cuts(order, labels[:, start : start + size], joined[:, start : start + size])
        for start in range(0, labels.shape[1], size)
    ]
    edges, groups = zip(*parts, strict=True)
    return np.concatenate(edges, axis=1), np.concatenate(groups, axis=1)


def _cuts(order: Precedence, labels: NDArray[np.integer], joined: BoolArray) -> tuple[BoolArray, BoolArray]:
    n, fields = order.n_groups, BitFields(order.n_groups, labels.shape[1])
    own = fields.sets(labels[:, None] == labels[None])
    before = [fields.everywhere(mask) & region for mask, region in zip(order.upstream, own, strict=True)]
    itself = [fields.everywhere(1 << group) for group in range(n)]
    outside = labels[order.edges[0]] != labels[order.edges[1]]
    left, entered, passed = [0] * n, [0] * n, [0] * n  # groups at either end of boundaries before; see graphs
    for (a, b), bounds, enters in zip(order.steps, fields.answers(~joined), fields.answers(outside), strict=True):
        boundary = fields.every(bounds)
        left[b] |= left[a] | itself[a] & boundary
        entered[b] |= entered[a] | itself[b] & boundary
        passed[b] |= passed[a] | before[a] & boundary | before[b] & fields.every(enters)
    returning = [fields.some(left[group] & own[group]) for group in range(n)]
    depends = [fields.some(entered[group] & own[group]) for group in range(n)]
    cut = []
    for a, b in order.steps:
        begins = returning[b] & ~returning[a] & fields.some(passed[b] & before[a])
        cut.append(begins & depends[a] if order.readers[a] == 1 else begins)
    parted = [returning[group] & fields.some(passed[group] & itself[group]) for group in range(n)]
    return fields.read(cut) & joined, fields.read(parted)
