"""Local descent under the full cost model, with the overhead of submodels that pairwise solvers leave out."""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heappop, heappush

import numpy as np

from ovplace.core.cost_table import CostTable
from ovplace.cost.evaluate.latency import latency_ms
from ovplace.cost.solvers.moves import Moves
from ovplace.cost.solvers.pairwise_moves import PairwiseMoves
from ovplace.graphs.dag import lowest_connected
from ovplace.graphs.op_graph import FloatArray, IntArray

LEAST_GAIN_MS = 1e-9
"""Least gain of a move, above what rounding may seem to gain."""

_MOST_MOVES = 100
"""Largest number of moves."""

_LARGE = 512
"""Groups above which a descent is quick and makes fewer moves, and fewer are looked at for the nearest ones, as each
takes longer: at 2,000 groups about a second."""

_AT_ONCE = 256
"""Moves evaluated before one is made: nearly all of 96 groups on two devices; all of 456 groups take a second."""

_FEW = 32
"""Moves evaluated at a time where the first few are wanted."""


def local_descent(table: CostTable, device_of: IntArray, *, quick: bool = False) -> IntArray:
    """Return the placement `[G]` after moving single groups or whole submodels while the full model falls.

    Each move is the best of the most promising ones, of the others where none of these helps; after a hundred, or fewer
    of a large model, no more are made.

    Args:
        table: the costs.
        device_of: the first placement, `[G]`; if it does not fit into memory, any move to one that does is taken.
        quick: leave out moves that help only if they undo cuts of HETERO. Few do, and they take most of the time.
    """
    best, quick = device_of, quick or table.n_groups > _LARGE
    value = float(latency_ms(table, best[None])[0]) if table.fits(best[None])[0] else np.inf
    for _ in range(_most_moves(table.n_groups)):
        found = _best_move(table, best, value - LEAST_GAIN_MS, quick=quick)
        if found is None:
            break
        best, value = found
    return best


def _most_moves(n_groups: int) -> int:
    """Return how many moves a descent makes at most: the time of each grows with the square of the groups."""
    return max(1, int(_MOST_MOVES * min(1.0, (_LARGE / max(n_groups, 1)) ** 2)))


def _best_move(table: CostTable, device_of: IntArray, below_ms: float, *, quick: bool) -> tuple[IntArray, float] | None:
    """Return the placement `[G]` after the best move, and its latency in ms; None where no move goes below a limit.

    Most moves leave the cuts as they are by which HETERO divides regions. Those that help if they do are evaluated
    first, which are a few of hundreds, and the best move is mostly among them.
    """
    moves, region = Moves.of(table, device_of), _regions(table, device_of)
    bound_ms = _bound_ms(table, moves, region)
    cuts_ms = _cuts_ms(table, moves, region)
    likely, possible = (int(np.count_nonzero(bound_ms + more_ms < below_ms)) for more_ms in (cuts_ms, 0.0))
    promising = np.argsort(bound_ms, kind="stable")
    for start, end in _pieces(0, likely, _AT_ONCE) + ([] if quick else _pieces(likely, possible, _AT_ONCE)):
        some = moves.rows(np.sort(promising[start:end]))
        values = latency_ms(table, some)
        if values.min() < below_ms:
            return some[values.argmin()], float(values.min())
    return None


def _pieces(start: int, end: int, size: int) -> list[tuple[int, int]]:
    return [(at, min(at + size, end)) for at in range(start, end, size)]


def nearest(table: CostTable, device_of: IntArray) -> Iterator[IntArray]:
    """Yield the distinct moves `[G]` that can run and fit into memory, the fastest under the full model first.

    Each is evaluated only when no bound of those left is below what is known: all of 500 groups take half a second. In
    a large model, where all take half a minute, a move that undoes cuts of HETERO may come too late.

    Args:
        table: the costs.
        device_of: device of each group, `[G]`.
    """
    moves, region = Moves.of(table, device_of), _regions(table, device_of)
    bound_ms = _bound_ms(table, moves, region)
    more_ms = (_cuts_ms(table, moves, region) if table.n_groups > _LARGE else 0.0) - LEAST_GAIN_MS
    distinct = moves.distinct
    order = distinct[np.argsort(bound_ms[distinct], kind="stable")]
    order = order[np.isfinite(bound_ms[order])]
    known: list[tuple[float, int]] = []
    for start, end in _pieces(0, len(order), _FEW):
        some = order[start:end]
        for found in zip(latency_ms(table, moves.rows(some)).tolist(), some.tolist(), strict=True):
            heappush(known, found)
        left_ms = bound_ms[order[end]] + more_ms if end < len(order) else np.inf
        while known and known[0][0] < left_ms:
            yield moves.rows(np.array([heappop(known)[1]]))[0]


def _regions(table: CostTable, device_of: IntArray) -> IntArray:
    """Return the connected region of each group on one device, its lowest group, `[G]`: a submodel, or several."""
    within = device_of[table.edges[0]] == device_of[table.edges[1]]
    return lowest_connected(table.n_groups, table.edges[:, within])


def _overhead_ms(table: CostTable, device_of: IntArray, label: IntArray) -> float:
    """Return the overhead of regions or submodels, each labelled by its lowest group, `[G]`."""
    return float(table.submodel_ms[device_of[np.unique(label)]].sum())


def _cuts_ms(table: CostTable, moves: Moves, region: IntArray) -> float:
    """Return the overhead of the submodels of a placement beyond that of its `_regions` `[G]`, which HETERO cuts up."""
    return _overhead_ms(table, moves.device_of, moves.submodel) - _overhead_ms(table, moves.device_of, region)


def _bound_ms(table: CostTable, moves: Moves, region: IntArray) -> FloatArray:
    """Return a lower bound on the latency of moves, `[M]`: HETERO joins no unconnected groups.

    Counting submodels takes nine tenths of the full model's time, and this spares most moves of it. What does not fit
    into memory is infinitely slow.

    Args:
        table: the costs.
        moves: from a placement.
        region: the `_regions` of that placement, `[G]`.
    """
    now_ms = _overhead_ms(table, moves.device_of, region)
    bounds = []
    for unit in moves.units:
        moved = PairwiseMoves(table, moves.device_of, unit)
        bound_ms = now_ms + moved.latency_ms() + _change_ms(table, moves.device_of, region, unit)
        bounds.append(np.where(moved.fit(), bound_ms, np.inf))
    return np.concatenate(bounds).T.ravel()


def _change_ms(table: CostTable, device_of: IntArray, region: IntArray, unit: IntArray) -> FloatArray:
    """Return the least change of the overhead by moving each of U units to each device, `[U, D]`.

    A unit joins all regions of its new device that it touches, and leaves nothing behind if it was a whole region.

    Args:
        table: the costs.
        device_of: device of each group, `[G]`.
        region: label of the connected region of each group, the lowest group in it, `[G]`.
        unit: label of the unit of each group, the lowest group in it, `[G]`.
    """
    n, units = table.n_groups, np.unique(unit)
    ends = np.concatenate([table.edges, table.edges[::-1]], axis=1)
    touched = np.unique(unit[ends[0]] * n + region[ends[1]])  # a unit and a region
    joined = np.zeros((n, table.n_devices))
    np.add.at(joined, (touched // n, device_of[touched % n]), 1.0)
    is_region = np.bincount(unit, minlength=n)[units] == np.bincount(region, minlength=n)[region[units]]
    leaves_ms = np.where(is_region, table.submodel_ms[device_of[units]], 0.0)
    change_ms = (1.0 - joined[units]) * table.submodel_ms - leaves_ms[:, None]
    change_ms[np.arange(len(units)), device_of[units]] = 0.0  # it stays where it is
    return np.asarray(change_ms)
