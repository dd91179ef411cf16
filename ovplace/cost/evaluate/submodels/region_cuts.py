"""HETERO's cuts where data comes back, region by region: a region is divided alike in every placement that has it.

The cuts in a region follow from the boundaries out of it, into it and inside it, and from what depends on what in the
model: all of these are the same wherever other groups are. They go on in rounds until there are none, and a round that
makes none in a region leaves it to the next one as it was. The placements beside one differ from it by few regions, so
that each region is looked at once, and regions that share no group are looked at together.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ovplace.cost.evaluate.submodels.precedence import Precedence
from ovplace.cost.evaluate.submodels.regions import Labels, connected
from ovplace.cost.evaluate.submodels.returning_cuts import returning_cuts
from ovplace.graphs.op_graph import BoolArray, IntArray

_OPEN = 64
"""The last columns, in which there may be room for a region; to try all would take long where there are thousands."""


def region_cuts(order: Precedence, labels: Labels, wanted: BoolArray) -> tuple[BoolArray, BoolArray]:
    """Return the edges that are cut, `[F, B]`, and the groups that are parted from their constants, `[G, B]`.

    Args:
        order: the edges that order groups.
        labels: region of each group under each placement, `[G, B]`.
        wanted: groups of the regions to look at, others have no cuts, `[G, B]`.
    """
    column, regions = _regions(labels, wanted)
    keys = [region.tobytes() for region in regions]
    found = order.regions.of(keys, lambda new: _cuts(order, [regions[at] for at in new]))
    cut = np.zeros((order.edges.shape[1], labels.shape[1]), dtype=bool)
    parted = np.zeros(labels.shape, dtype=bool)
    for at, (edges, groups) in zip(column, found, strict=True):
        cut[edges, at], parted[groups, at] = True, True
    return cut, parted


def _regions(labels: Labels, wanted: BoolArray) -> tuple[list[int], list[IntArray]]:
    """Return the placement of each wanted region of several groups, and its groups in ascending order."""
    column, group = np.nonzero(wanted.T)
    group = group.astype(np.int32)
    region = column * len(labels) + labels[group, column]
    by_region = np.argsort(region, kind="stable")
    size = np.bincount(region)
    end = np.cumsum(size)
    several = np.flatnonzero(size > 1)
    pieces = [group[by_region[start:stop]] for start, stop in zip((end - size)[several], end[several], strict=True)]
    return (several // len(labels)).tolist(), pieces


def _cuts(order: Precedence, regions: Sequence[IntArray]) -> list[tuple[IntArray, IntArray]]:
    """Return the edges cut in each of R regions, and the groups parted from their constants."""
    owner = _columns(order.n_groups, regions)
    alone = -1 - np.arange(order.n_groups)[:, None]
    apart = np.where(owner < 0, alone, owner)
    joined, loose = (apart[edges[0]] == apart[edges[1]] for edges in (order.edges, order.loose))
    before, parted = joined.copy(), np.zeros(owner.shape, dtype=bool)
    labels, active = connected(order, joined, loose), np.arange(owner.shape[1])
    while len(active):
        cut, parts = returning_cuts(order, labels[:, active], joined[:, active])
        joined[:, active] &= ~cut
        parted[:, active] |= parts
        active = active[cut.any(axis=0)]
        labels[:, active] = connected(order, joined[:, active], loose[:, active])
    edges = _by_owner(before & ~joined, owner[order.edges[0]], len(regions))
    groups = _by_owner(parted, owner, len(regions))
    return list(zip(edges, groups, strict=True))


def _columns(n_groups: int, regions: Sequence[IntArray]) -> IntArray:
    """Return the region of each group in A columns, `[G, A]`, -1 for none: of the regions in one no two overlap."""
    columns: list[int] = []  # the groups in each, as bit masks
    place = []
    for region in regions:
        mask = sum(1 << group for group in region.tolist())
        fits = (at for at in range(max(0, len(columns) - _OPEN), len(columns)) if not columns[at] & mask)
        at = next(fits, len(columns))
        if at == len(columns):
            columns.append(0)
        columns[at] |= mask
        place.append(at)
    owner = np.full((n_groups, len(columns)), -1)
    for number, (region, at) in enumerate(zip(regions, place, strict=True)):
        owner[region, at] = number
    return owner


def _by_owner(chosen: BoolArray, owner: IntArray, count: int) -> list[IntArray]:
    """Return the rows chosen, in any column, of each of some regions.

    Args:
        chosen: `[K, A]`.
        owner: region of each row in each column, `[K, A]`.
        count: number of regions.
    """
    row, column = np.nonzero(chosen)
    of = owner[row, column]
    by_owner = np.argsort(of, kind="stable")
    return np.split(row[by_owner], np.searchsorted(of[by_owner], np.arange(1, count))) if count else []
