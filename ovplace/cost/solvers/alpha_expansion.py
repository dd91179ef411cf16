"""A near-optimal placement on any number of devices under the pairwise model, by minimum cuts alone.

For each device in turn, a minimum cut finds the best set of groups to move there while all others stay, until no device
gains any more ("expansion moves": Boykov, Veksler and Zabih, "Fast approximate energy minimization via graph cuts",
PAMI 2001). Milliseconds where a mixed-integer program takes seconds, and the same on every machine; no bound.
"""

from __future__ import annotations

import numpy as np

from ovplace.core.cost_table import CostTable
from ovplace.core.traffic import Traffic
from ovplace.cost.evaluate.folding import folded
from ovplace.cost.evaluate.latency import pairwise_ms
from ovplace.cost.solvers.local_descent import LEAST_GAIN_MS
from ovplace.cost.solvers.min_cut import solve_min_cut
from ovplace.cost.solvers.simple_placements import simple_placements
from ovplace.graphs.op_graph import FloatArray, IntArray

_CYCLES = 10
"""Turns of all devices; three are usual."""

_Terms = tuple[IntArray, IntArray, FloatArray]
"""First group, second group, and costs where neither moves, the second, the first, both, `[4, K]`."""


def alpha_expansion(table: CostTable) -> IntArray:
    """Return a placement `[G]` that moving any set of groups to one device does not improve, as far as cuts can tell.

    Tensors with several readers count once for each reader within a cut, and moves that would share less than they
    save are passed over; what is kept is judged by `pairwise_ms`, and by memory.
    """
    table = folded(table)
    best = _start(table)
    value, since = _value_ms(table, best), 0
    for turn in range(_CYCLES * table.n_devices):
        device = turn % table.n_devices
        moves = solve_min_cut(_two_way(table, best, device)).device_of == 1
        choice = np.where(moves, device, best)
        found = _value_ms(table, choice)
        better = found < value - LEAST_GAIN_MS
        best, value, since = (choice, found, 0) if better else (best, value, since + 1)
        if since >= table.n_devices:
            break
    return best


def _start(table: CostTable) -> IntArray:
    """Return the best of the simple placements that fit into memory, `[G]`."""
    options = simple_placements(table)
    values = np.where(table.fits(options), pairwise_ms(table, options), np.inf)
    return np.asarray(options[values.argmin()])


def _value_ms(table: CostTable, device_of: IntArray) -> float:
    return float(pairwise_ms(table, device_of[None])[0]) if table.fits(device_of[None])[0] else np.inf


def _two_way(table: CostTable, device_of: IntArray, device: int) -> CostTable:
    """Return the choice between staying (0) and moving to `device` (1) as a table of two devices.

    A pair's costs a, b, c, d for neither, second, first and both moved are those of single groups, plus
    (b + c - a - d) / 2 for parting, which stands in the table as a saving.
    """
    first, second, costs = (
        np.concatenate(part, axis=-1) for part in zip(*_pairs(table, device_of, device), strict=True)
    )
    neither, of_second, of_first, both = costs
    parting = np.maximum(of_second + of_first - neither - both, 0.0) / 2
    groups = np.arange(table.n_groups)
    own = np.stack([table.group_ms[groups, device_of], table.group_ms[:, device]], axis=1)
    own[:, 1] += np.bincount(first, of_first - neither - parting, table.n_groups)
    own[:, 1] += np.bincount(second, both - of_first + parting, table.n_groups)
    own -= own.min(axis=1, keepdims=True)
    none, nothing = np.zeros(0, dtype=np.int64), np.zeros((2, 2))
    return CostTable(
        traffic=Traffic(none, none, none, none),
        edges=np.stack([first, second]),
        group_ms=own,
        saving_ms=np.stack([parting, parting], axis=1),
        latency_ms=nothing,
        ms_per_byte=nothing,
        submodel_ms=np.zeros(2),
        group_bytes=np.zeros(table.n_groups),
        memory_bytes=np.full(2, np.inf),
    )


def _pairs(table: CostTable, device_of: IntArray, device: int) -> tuple[_Terms, _Terms]:
    """Return the costs of pairs: what edges save, and what each reader of a tensor has passed to it."""
    s, t = table.edges
    here, there, edge = device_of[s], device_of[t], np.arange(len(s))
    moved = -table.saving_ms[:, device]
    stay = np.where(here == there, -table.saving_ms[edge, here], 0.0)
    savings = np.stack([stay, np.where(here == device, moved, 0.0), np.where(there == device, moved, 0.0), moved])
    tensor = table.traffic.tensor_of
    source, reader = table.traffic.source[tensor], table.traffic.readers
    cost, home, target = table.transfer_ms(), device_of[source], device_of[reader]
    transfers = np.stack(
        [cost[tensor, home, target], cost[tensor, home, device], cost[tensor, device, target], np.zeros(len(tensor))]
    )
    return (s, t, savings), (source, reader, transfers)
