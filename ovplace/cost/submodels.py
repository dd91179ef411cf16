"""How many submodels HETERO forms, for many placements of groups at once.

The same rule as `core/submodels.py` has for operations, on groups and vectorised over placements: neighbours on one
device are joined; a region that depends on what it produces itself is cut where that dependence begins.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ovplace.core.dag import connected_labels, strong_labels, topological_order
from ovplace.core.graph import BoolArray, IntArray

_CHUNK_WORDS = 4_000_000
_Bits = NDArray[np.uint64]


def submodel_labels(n_groups: int, edges: IntArray, device_of: IntArray) -> IntArray:
    """Return the submodel of each group under each placement, `[B, G]`: the lowest group of the submodel.

    Args:
        n_groups: number of groups G.
        edges: directed pairs of neighbouring groups, `[2, Q]`; edges on a cycle of groups join, and order nothing.
        device_of: device of each group under each placement, `[B, G]`.

    Cost: O(B Q G / 64) for each round of cuts, and there are as many rounds as a region is left and entered again.
    """
    order = _Order(n_groups, edges)
    size = max(1, _CHUNK_WORDS // max(1, n_groups * _words(n_groups)))
    parts = [
        _labels(n_groups, edges, device_of[start : start + size], order) for start in range(0, len(device_of), size)
    ]
    return np.concatenate(parts) if parts else np.empty((0, n_groups), dtype=np.int64)


def submodel_counts(n_groups: int, edges: IntArray, device_of: IntArray, n_devices: int) -> IntArray:
    """Return the number of submodels on each device under each placement, `[B, D]`."""
    labels = submodel_labels(n_groups, edges, device_of)
    first = labels == np.arange(n_groups)
    return np.stack([(first & (device_of == d)).sum(axis=1) for d in range(n_devices)], axis=1).astype(np.int64)


def _labels(n: int, edges: IntArray, device_of: IntArray, order: _Order) -> IntArray:
    joined = device_of[:, edges[0]] == device_of[:, edges[1]]
    labels = _connected(n, edges, joined)
    active = np.arange(len(device_of))
    while len(active):
        cut = _returning_cuts(n, edges, joined[active], labels[active], order)
        active = active[cut.any(axis=1)]
        if len(active):
            joined[active] &= ~cut[cut.any(axis=1)]
            labels[active] = _connected(n, edges, joined[active])
    return _without_mutual_needs(n, edges, joined, labels, order)


class _Order:
    """The edges that order groups, target by target in topological order."""

    def __init__(self, n: int, edges: IntArray) -> None:
        component = strong_labels(n, edges)
        forward = np.flatnonzero(component[edges[0]] != component[edges[1]])
        rank = np.empty(n, dtype=np.int64)
        rank[topological_order(n, edges[:, forward])] = np.arange(n)
        by_target = forward[np.argsort(rank[edges[1, forward]], kind="stable")]
        self.steps = edges[:, by_target].T.tolist()


def _words(n: int) -> int:
    return (n + 63) // 64


def _connected(n: int, edges: IntArray, joined: BoolArray) -> IntArray:
    """Return the lowest group of each group's connected region, `[B, G]`."""
    row, edge = np.nonzero(joined)
    offset = row * n
    count = len(joined)
    component = connected_labels(count * n, np.stack([edges[0, edge] + offset, edges[1, edge] + offset]))
    _, first = np.unique(component, return_index=True)  # components are numbered by their lowest member
    return np.asarray(first[component].reshape(count, n) - np.arange(count)[:, None] * n, dtype=np.int64)


def _returning_cuts(n: int, edges: IntArray, joined: BoolArray, labels: IntArray, order: _Order) -> BoolArray:
    """Return the joined edges that lead into what depends on its own region from what does not, `[B, Q]`."""
    rows = np.arange(len(labels))
    word, bit = labels >> 6, np.left_shift(np.uint64(1), (labels & 63).astype(np.uint64))
    behind: _Bits = np.zeros((n, len(labels), _words(n)), dtype=np.uint64)  # regions each group depends on
    returning = np.zeros((n, len(labels)), dtype=bool)
    for source, target in order.steps:
        same = labels[:, source] == labels[:, target]
        # What reached `source` includes its own region as seen from outside.
        own = (behind[source, rows, word[:, target]] & bit[:, target]) != 0
        returning[target] |= np.where(same, returning[source], own)
        behind[target] |= behind[source]
        behind[target, rows, word[:, source]] |= bit[:, source]
    return np.asarray(joined & returning[edges[1]].T & ~returning[edges[0]].T)


def _without_mutual_needs(n: int, edges: IntArray, joined: BoolArray, labels: IntArray, order: _Order) -> IntArray:
    """Cut regions that still need each other, though no path returns: where the number of changes before differs."""
    count = len(labels)
    offset = np.arange(count)[:, None] * n
    between = labels[:, edges[0]] != labels[:, edges[1]]
    pairs = np.stack([(labels[:, edges[0]] + offset)[between], (labels[:, edges[1]] + offset)[between]])
    component = strong_labels(count * n, pairs)[labels + offset]
    cyclic = np.flatnonzero((_sizes(component, labels, offset) > 1).any(axis=1))
    if not len(cyclic):
        return labels
    level = np.zeros((len(cyclic), n), dtype=np.int64)
    inside, own = component[cyclic], labels[cyclic]
    for source, target in order.steps:
        step = level[:, source] + (own[:, source] != own[:, target])
        together = inside[:, source] == inside[:, target]
        level[:, target] = np.maximum(level[:, target], np.where(together, step, 0))
    labels = labels.copy()
    labels[cyclic] = _connected(n, edges, joined[cyclic] & (level[:, edges[0]] == level[:, edges[1]]))
    return labels


def _sizes(component: IntArray, labels: IntArray, offset: IntArray) -> IntArray:
    """Return how many regions share the strongly connected component of each group, `[B, G]`."""
    regions = np.unique(labels + offset)
    flat = component.reshape(-1)
    counts = np.bincount(flat[regions], minlength=int(flat.max(initial=0)) + 1)
    return np.asarray(counts[component], dtype=np.int64)
