"""The number of submodels that HETERO forms, for many placements of groups at once.

The rule of `graphs/submodels.py`, vectorised over placements. Each group is taken for an operation with one output
that reads a constant of its own, as most do. Of 40 random placements the count was that of the operations in 26 of the
demo (0.5 of 13.6 too few on average), 38 of `inception_v3`, 39 of `detector_head`, all of `unet` and `attention`.
"""

from __future__ import annotations

import numpy as np

from ovplace.cost.evaluate.submodels.isolating_cuts import isolating_cuts
from ovplace.cost.evaluate.submodels.precedence import Precedence, precedence
from ovplace.cost.evaluate.submodels.region_cuts import region_cuts
from ovplace.cost.evaluate.submodels.regions import Labels, connected, on_cycles
from ovplace.graphs.op_graph import IntArray

_CHUNK_WORDS = 1_000_000
"""Size of the largest arrays at a time, so that large batches need no more memory than small ones."""

_FEW = 1000
"""Placements in a batch that is remembered; larger ones are random draws, which do not come again."""


def submodels_of_groups(n_groups: int, edges: IntArray, device_of: IntArray) -> IntArray:
    """Return the submodel of each group under each placement, `[B, G]`: the lowest group of the submodel.

    Args:
        n_groups: number of groups G; their order decides between equals.
        edges: directed pairs of neighbouring groups, `[2, Q]`; edges on a cycle of groups join, and order nothing.
        device_of: device of each group under each placement, `[B, G]`.

    Cost: O(B (G + Q)) for each group cut off; O(Q G / 64) at most for each round of cuts where data comes back in a
    region that was not looked at before. Few placements at a time are remembered: searches solve models whose costs
    differ, and look at the same placements and their neighbours nine times of ten.
    """
    if len(device_of) > _FEW:
        return _submodels(n_groups, edges, device_of)
    keys = [row.tobytes() for row in np.ascontiguousarray(device_of, dtype=np.int16)]
    found = precedence(n_groups, edges).placements.of(keys, lambda new: _submodels(n_groups, edges, device_of[new]))
    return np.array(found, dtype=np.int64).reshape(len(keys), n_groups)


def _submodels(n_groups: int, edges: IntArray, device_of: IntArray) -> IntArray:
    order = precedence(n_groups, edges)
    size = max(1, _CHUNK_WORDS // max(1, n_groups))
    parts = [
        _labels(order, np.ascontiguousarray(device_of[start : start + size].T)).T
        for start in range(0, len(device_of), size)
    ]
    return np.concatenate(parts).astype(np.int64) if parts else np.empty((0, n_groups), dtype=np.int64)


def submodel_counts(n_groups: int, edges: IntArray, device_of: IntArray, n_devices: int) -> IntArray:
    """Return the number of submodels on each device under each placement, `[B, D]`.

    Args:
        n_groups: number of groups G.
        edges: directed pairs of neighbouring groups, `[2, Q]`.
        device_of: device of each group under each placement, `[B, G]`.
        n_devices: number of devices D.
    """
    labels = submodels_of_groups(n_groups, edges, device_of)
    first = labels == np.arange(n_groups)
    return np.stack([(first & (device_of == d)).sum(axis=1) for d in range(n_devices)], axis=1).astype(np.int64)


def pieces_of_regions(n_groups: int, edges: IntArray, device_of: IntArray) -> IntArray:
    """Return the pieces that each region of a placement falls into under every placement that has this region, `[G]`.

    A region hangs together on one device, with its neighbours on others. HETERO makes at least one submodel of each
    piece. The cuts where data comes back are the same in each of these placements, see `region_cuts`. The cuts around
    single groups depend on other regions, too, but only add pieces.

    Args:
        n_groups: number of groups G.
        edges: directed pairs of neighbouring groups, `[2, Q]`.
        device_of: device of each group, `[G]`.

    Returns:
        The lowest group of the piece of each group.
    """
    labels = _labels(precedence(n_groups, edges), device_of[:, None], around_groups=False)
    return labels[:, 0].astype(np.int64)


def _labels(order: Precedence, device_of: IntArray, *, around_groups: bool = True) -> Labels:
    """Return labels `[G, B]`.

    Args:
        order: the edges that order groups.
        device_of: device of each group under each placement, `[G, B]`.
        around_groups: whether to go on after the cuts where data comes back.
    """
    joined, loose = (device_of[edges[0]] == device_of[edges[1]] for edges in (order.edges, order.loose))
    labels, constants = connected(order, joined, loose), np.ones(device_of.shape, dtype=bool)
    circles = on_cycles(order, labels)
    cyclic = np.flatnonzero(circles.any(axis=0))
    cut, parted = region_cuts(order, labels[:, cyclic], circles[:, cyclic])
    constants[:, cyclic] = ~parted
    active = cyclic[cut.any(axis=0)]
    joined[:, cyclic] &= ~cut
    labels[:, active] = connected(order, joined[:, active], loose[:, active])
    while around_groups and len(cyclic):
        circles = on_cycles(order, labels[:, cyclic])
        circles, cyclic = circles[:, circles.any(axis=0)], cyclic[circles.any(axis=0)]
        cut = isolating_cuts(order, labels[:, cyclic], joined[:, cyclic], circles, constants[:, cyclic])
        joined[:, cyclic] &= ~cut
        cyclic = cyclic[cut.any(axis=0)]
        labels[:, cyclic] = connected(order, joined[:, cyclic], loose[:, cyclic])
    return labels
