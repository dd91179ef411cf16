"""The number of submodels that HETERO forms, for many placements of groups at once.

An approximation of `graphs/submodels.py`, on groups and vectorised over placements: neighbours on one device are
joined; a region that depends on what it produces itself is cut where that dependence begins. Where none does, the count
is HETERO's. Else OpenVINO 2026.4.1 forms more: of 40 random placements the count was right in 19 of the demo (2.8 of
13.6 too few on average), 35 of `inception_v3`, 38 of `detector_head` and 40 of `unet`. HETERO's second kind of cut
(`graphs/isolating_edges.py`) goes one group at a time, which took 16 times as long here for the moves of a descent.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ovplace.cost.evaluate.bit_sets import BitFields
from ovplace.graphs.dag import lowest_connected, strong_labels, topological_order
from ovplace.graphs.op_graph import BoolArray, IntArray

_CHUNK_WORDS = 4_000_000
"""Size of the largest arrays at a time, so that large batches need no more memory than small ones."""

_FEW = 1000
"""Placements in a batch that is remembered; larger ones are random draws, which do not come again."""

_CHUNK_BITS = 8 * _CHUNK_WORDS

_Labels = NDArray[np.int32]


def submodels_of_groups(n_groups: int, edges: IntArray, device_of: IntArray) -> IntArray:
    """Return the submodel of each group under each placement, `[B, G]`: the lowest group of the submodel.

    Args:
        n_groups: number of groups G.
        edges: directed pairs of neighbouring groups, `[2, Q]`; edges on a cycle of groups join, and order nothing.
        device_of: device of each group under each placement, `[B, G]`.

    Cost: O(B (G + Q C / 64)) for each round of cuts, where at most C submodels need each other; there are as many
    rounds as a region is left and entered again. Few placements at a time are remembered: searches solve models whose
    costs differ, and look at the same placements and their neighbours nine times of ten.
    """
    if len(device_of) > _FEW:
        return _submodels(n_groups, edges, device_of)
    known = _memory(n_groups, np.asarray(edges, dtype=np.int64).tobytes())
    if len(known) * n_groups > _CHUNK_WORDS // 2:
        known.clear()
    keys = [row.tobytes() for row in np.ascontiguousarray(device_of, dtype=np.int16)]
    if new := {key: i for i, key in enumerate(keys) if key not in known}:
        known.update(zip(new, _submodels(n_groups, edges, device_of[list(new.values())]), strict=True))
    return np.array([known[key] for key in keys], dtype=np.int64).reshape(len(keys), n_groups)


def _submodels(n_groups: int, edges: IntArray, device_of: IntArray) -> IntArray:
    order = _order(n_groups, np.asarray(edges, dtype=np.int64).tobytes())
    size = max(1, _CHUNK_WORDS // max(1, n_groups))
    parts = [
        _labels(np.ascontiguousarray(device_of[start : start + size].T), edges, order).T
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


def _labels(device_of: IntArray, edges: IntArray, order: _Order) -> _Labels:
    """Return labels `[G, B]`: below, placements are columns, so that what is done group by group runs along memory."""
    joined = device_of[edges[0]] == device_of[edges[1]]
    labels = _connected(len(device_of), edges, joined)
    active = np.arange(device_of.shape[1])
    while len(active):
        circles = _Circles(edges, labels[:, active])
        active = active[circles.columns]
        joined, own = joined[:, circles.columns], labels[:, active]
        cut = joined & _returning_cuts(edges, own, order, circles)
        stuck = ~cut.any(axis=0)
        if stuck.any():
            cut[:, stuck] = _mutual_cuts(edges, own[:, stuck], order, circles.component[:, stuck])
        joined &= ~cut
        labels[:, active] = _connected(len(device_of), edges, joined)
        active, joined = active[~stuck], joined[:, ~stuck]
    return labels


class _Order:
    """The edges that order groups, target by target in topological order."""

    def __init__(self, n: int, edges: IntArray) -> None:
        component = strong_labels(n, edges)
        forward = np.flatnonzero(component[edges[0]] != component[edges[1]])
        rank = np.empty(n, dtype=np.int64)
        rank[topological_order(n, edges[:, forward])] = np.arange(n)
        by_target = forward[np.argsort(rank[edges[1, forward]], kind="stable")]
        self.edges = edges[:, by_target]
        self.steps = self.edges.T.tolist()


@lru_cache(maxsize=8)
def _order(n_groups: int, edges: bytes) -> _Order:
    """Return the order that edges give; a search asks for that of the same few thousands of times."""
    return _Order(n_groups, np.frombuffer(edges, dtype=np.int64).reshape(2, -1))


class _Circles:
    """The submodels of placements that need each other.

    Attributes:
        columns: placements in which some do, `[A]`.
        component: the circle of each group under those, `[G, A]`.
        number: the number of each group's submodel within its circle, `[G, A]`.
        size: submodels in the largest circle.
    """

    def __init__(self, edges: IntArray, labels: _Labels) -> None:
        n, count = labels.shape
        flat = _flat(labels)
        source, target = labels[edges[0]], labels[edges[1]]
        between = source != target
        pairs = np.stack([_flat(source)[between], _flat(target)[between]])
        component = strong_labels(n * count, pairs).astype(np.int32)
        heads = np.flatnonzero(labels == np.arange(n)[:, None])
        sizes = np.bincount(component[heads], minlength=n * count)
        shared = heads[sizes[component[heads]] > 1]
        self.columns = np.unique(shared % max(count, 1))
        self.size = int(sizes.max(initial=0))
        number = np.zeros(n * count, dtype=np.int32)
        number[shared] = _places(component[shared])
        self.component = component[flat[:, self.columns]]
        self.number = number[flat[:, self.columns]]


def _flat(groups: _Labels) -> _Labels:
    """Return the index of each group of each placement among all of them, `[..., B]`."""
    count = groups.shape[-1]
    return np.asarray(groups * np.int32(count) + np.arange(count, dtype=np.int32), dtype=np.int32)


def _places(keys: _Labels) -> IntArray:
    """Return how many earlier entries are equal to each, `[K]`."""
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    places = np.empty(len(keys), dtype=np.int64)
    places[order] = np.arange(len(keys)) - np.searchsorted(ordered, ordered)
    return places


def _connected(n: int, edges: IntArray, joined: BoolArray) -> _Labels:
    """Return the lowest group of each group's connected region, `[G, B]`."""
    count = joined.shape[1]
    ends = [_flat(np.broadcast_to(end[:, None], joined.shape).astype(np.int32))[joined] for end in edges]
    lowest = lowest_connected(n * count, np.stack(ends))
    return np.asarray((lowest // max(count, 1)).reshape(n, count), dtype=np.int32)


def _returning_cuts(edges: IntArray, labels: _Labels, order: _Order, circles: _Circles) -> BoolArray:
    """Return the edges that lead into what depends on its own region from what does not, `[Q, A]`."""
    size = max(1, _CHUNK_BITS // max(1, edges.shape[1] * (circles.size + 1)))
    cut = np.empty((edges.shape[1], labels.shape[1]), dtype=bool)
    for start in range(0, labels.shape[1], size):
        part = slice(start, start + size)
        fields = BitFields(circles.size, labels[:, part].shape[1])
        returning = _returning(labels[:, part], circles.component[:, part], circles.number[:, part], order, fields)
        cut[:, part] = returning[edges[1]] & ~returning[edges[0]]
    return cut


def _returning(label: _Labels, circle: _Labels, number: _Labels, order: _Order, fields: BitFields) -> BoolArray:
    """Return which groups depend on their own region through another one, `[G, A]`.

    A region that depends on itself does so around a circle, so that the regions of one circle are enough.

    Args:
        label: region of each group, `[G, A]`.
        circle: circle of each group, `[G, A]`.
        number: the number of each group's region within its circle, `[G, A]`.
        order: the edges that order groups.
        fields: the layout of placements in integers.
    """
    source, target = order.edges
    same, inside = label[source] == label[target], circle[source] == circle[target]
    own = fields.elements(number)
    behind, returning = [0] * len(label), [0] * len(label)  # regions that each group depends on, and whether its own
    for (a, b), stays, enters in zip(order.steps, fields.answers(same), fields.answers(inside & ~same), strict=True):
        # What reached `a` includes the region of `b` as seen from outside.
        returning[b] |= (stays & returning[a]) | (enters and enters & fields.some(behind[a] & own[b]))
        behind[b] |= (behind[a] | own[a]) & fields.every(stays | enters)
    return fields.read(returning)


def _mutual_cuts(edges: IntArray, labels: _Labels, order: _Order, circle: _Labels) -> BoolArray:
    """Return where to cut regions that need each other though no path returns, `[Q, A]`.

    That is where the number of changes before differs.
    """
    level = np.zeros(labels.shape, dtype=np.int32)
    for source, target in order.steps:
        step = level[source] + (labels[source] != labels[target])
        level[target] = np.maximum(level[target], np.where(circle[source] == circle[target], step, 0))
    return np.asarray(level[edges[0]] != level[edges[1]])
