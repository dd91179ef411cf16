"""Regions of many placements at once: groups of one device that hang together.

Placements are columns, so that what is done group by group runs along memory.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ovplace.cost.evaluate.submodels.precedence import Precedence
from ovplace.graphs.dag import lowest_connected, strong_labels
from ovplace.graphs.op_graph import BoolArray

Labels = NDArray[np.int32]
"""Region of each group under each placement, `[G, B]`: its lowest group."""


def connected(order: Precedence, joined: BoolArray, loose: BoolArray) -> Labels:
    """Return the region of each group, `[G, B]`.

    Args:
        order: the edges.
        joined: which edges that order groups join them, `[F, B]`.
        loose: which of the others do, `[L, B]`.
    """
    n, count = order.n_groups, joined.shape[1]
    edges, within = np.concatenate([order.edges, order.loose], axis=1), np.concatenate([joined, loose])
    ends = [_flat(np.broadcast_to(end[:, None], within.shape).astype(np.int32))[within] for end in edges]
    lowest = lowest_connected(n * count, np.stack(ends))
    return np.asarray((lowest // max(count, 1)).reshape(n, count), dtype=np.int32)


def on_cycles(order: Precedence, labels: Labels) -> BoolArray:
    """Return the groups of regions that need each other, `[G, B]`.

    Args:
        order: the edges that order groups.
        labels: region of each group, `[G, B]`.
    """
    n, count = labels.shape
    source, target = labels[order.edges]
    between = source != target
    component = strong_labels(n * count, np.stack([_flat(source)[between], _flat(target)[between]]))
    heads = np.flatnonzero(labels == np.arange(n)[:, None])
    size = np.bincount(component[heads], minlength=n * count)
    return np.asarray(size[component[_flat(labels)]] > 1)


def _flat(groups: Labels) -> Labels:
    """Return the index of each group of each placement among all of them, `[..., B]`."""
    count = groups.shape[-1]
    return np.asarray(groups * np.int32(count) + np.arange(count, dtype=np.int32), dtype=np.int32)
