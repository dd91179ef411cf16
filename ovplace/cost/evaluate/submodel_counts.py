"""The number of submodels that HETERO forms, for many placements of groups at once.

The rule of `graphs/submodels.py`, vectorised over placements. Each group is taken for an operation with one output
that reads a constant of its own, as most do. Of 40 random placements the count was that of the operations in 26 of the
demo (0.5 of 13.6 too few on average), 38 of `inception_v3`, 39 of `detector_head`, all of `unet` and `attention`.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ovplace.cost.evaluate.isolating_cuts import isolating_cuts
from ovplace.cost.evaluate.precedence import Precedence, precedence
from ovplace.cost.evaluate.returning_cuts import returning_cuts
from ovplace.graphs.dag import lowest_connected, strong_labels
from ovplace.graphs.op_graph import BoolArray, IntArray

_CHUNK_WORDS = 4_000_000
"""Size of the largest arrays at a time, so that large batches need no more memory than small ones."""

_FEW = 1000
"""Placements in a batch that is remembered; larger ones are random draws, which do not come again."""

_Labels = NDArray[np.int32]


def submodels_of_groups(n_groups: int, edges: IntArray, device_of: IntArray) -> IntArray:
    """Return the submodel of each group under each placement, `[B, G]`: the lowest group of the submodel.

    Args:
        n_groups: number of groups G; their order decides between equals.
        edges: directed pairs of neighbouring groups, `[2, Q]`; edges on a cycle of groups join, and order nothing.
        device_of: device of each group under each placement, `[B, G]`.

    Cost: O(B (G + Q G / 64)) for each round of cuts where data comes back, O(B (G + Q)) for each group cut off. Few
    placements at a time are remembered: searches solve models whose costs differ, and look at the same placements and
    their neighbours nine times of ten.
    """
    if len(device_of) > _FEW:
        return _submodels(n_groups, edges, device_of)
    known = _memory(n_groups, np.asarray(edges, dtype=np.int64).tobytes())
    if len(known) * n_groups > _CHUNK_WORDS // 2:
        known.clear()
    keys = [row.tobytes() for row in np.ascontiguousarray(device_of, dtype=np.int16)]
    found = {key: labels for key in keys if (labels := known.get(key)) is not None}  # another thread may clear them
    if new := {key: i for i, key in enumerate(keys) if key not in found}:
        found.update(zip(new, _submodels(n_groups, edges, device_of[list(new.values())]), strict=True))
        known.update(found)
    return np.array([found[key] for key in keys], dtype=np.int64).reshape(len(keys), n_groups)


def _submodels(n_groups: int, edges: IntArray, device_of: IntArray) -> IntArray:
    order = precedence(n_groups, edges)
    size = max(1, _CHUNK_WORDS // max(1, n_groups))
    parts = [
        _labels(order, np.ascontiguousarray(device_of[start : start + size].T)).T
        for start in range(0, len(device_of), size)
    ]
    return np.concatenate(parts).astype(np.int64) if parts else np.empty((0, n_groups), dtype=np.int64)


@lru_cache(maxsize=4)
def _memory(n_groups: int, edges: bytes) -> dict[bytes, IntArray]:
    """Return the submodels of placements looked at before, in a model of its own for each set of edges."""
    return {}


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
    piece. The cuts where data comes back follow from the boundaries out of the region, into it and inside it, and from
    what depends on what in the model: all of these are the same wherever other groups are. Such cuts go on until there
    are none, and a round that makes none in a region leaves it to the next one as it was. The cuts around single groups
    are of other regions, too, but only add pieces.

    Args:
        n_groups: number of groups G.
        edges: directed pairs of neighbouring groups, `[2, Q]`.
        device_of: device of each group, `[G]`.

    Returns:
        The lowest group of the piece of each group.
    """
    labels = _labels(precedence(n_groups, edges), device_of[:, None], around_groups=False)
    return labels[:, 0].astype(np.int64)


def _labels(order: Precedence, device_of: IntArray, *, around_groups: bool = True) -> _Labels:
    """Return labels `[G, B]`: below, placements are columns, so that what is done group by group runs along memory.

    Args:
        order: the edges that order groups.
        device_of: device of each group under each placement, `[G, B]`.
        around_groups: whether to go on after the cuts where data comes back.
    """
    joined, loose = (device_of[edges[0]] == device_of[edges[1]] for edges in (order.edges, order.loose))
    constants = np.ones(device_of.shape, dtype=bool)
    labels = _connected(order, joined, loose)
    active = cyclic = np.flatnonzero(_cyclic(order, labels).any(axis=0))
    while len(active):
        cut, parted = returning_cuts(order, labels[:, active], joined[:, active])
        joined[:, active] &= ~cut
        constants[:, active] &= ~parted
        active = active[cut.any(axis=0)]
        labels[:, active] = _connected(order, joined[:, active], loose[:, active])
    while around_groups and len(cyclic):
        circles = _cyclic(order, labels[:, cyclic])
        circles, cyclic = circles[:, circles.any(axis=0)], cyclic[circles.any(axis=0)]
        cut = isolating_cuts(order, labels[:, cyclic], joined[:, cyclic], circles, constants[:, cyclic])
        joined[:, cyclic] &= ~cut
        cyclic = cyclic[cut.any(axis=0)]
        labels[:, cyclic] = _connected(order, joined[:, cyclic], loose[:, cyclic])
    return labels


def _cyclic(order: Precedence, labels: _Labels) -> BoolArray:
    """Return the groups of regions that need each other, `[G, B]`."""
    n, count = labels.shape
    source, target = labels[order.edges]
    between = source != target
    component = strong_labels(n * count, np.stack([_flat(source)[between], _flat(target)[between]]))
    heads = np.flatnonzero(labels == np.arange(n)[:, None])
    size = np.bincount(component[heads], minlength=n * count)
    return np.asarray(size[component[_flat(labels)]] > 1)


def _flat(groups: _Labels) -> _Labels:
    """Return the index of each group of each placement among all of them, `[..., B]`."""
    count = groups.shape[-1]
    return np.asarray(groups * np.int32(count) + np.arange(count, dtype=np.int32), dtype=np.int32)


def _connected(order: Precedence, joined: BoolArray, loose: BoolArray) -> _Labels:
    """Return the lowest group of each group's connected region, `[G, B]`."""
    n, count = order.n_groups, joined.shape[1]
    edges, within = np.concatenate([order.edges, order.loose], axis=1), np.concatenate([joined, loose])
    ends = [_flat(np.broadcast_to(end[:, None], within.shape).astype(np.int32))[within] for end in edges]
    lowest = lowest_connected(n * count, np.stack(ends))
    return np.asarray((lowest // max(count, 1)).reshape(n, count), dtype=np.int32)
