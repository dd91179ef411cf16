"""Features of a placement for Placeto's policy.

Source: Placeto, arXiv 1906.08879, section 3.2, and its published code (`label_free`). The features relative to a device
(`view_features`, `pair_features`) are not published.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ovplace.core.cost_table import CostTable
from ovplace.core.problem import Problem
from ovplace.cost.evaluate.move_costs import MoveCosts
from ovplace.graphs.dag import component_rank
from ovplace.graphs.op_graph import BoolArray, FloatArray, IntArray

N_LABEL_FREE = 5
"""Published columns without the one-hot device: cost, output size, visits, is-current bit, relative start time."""

N_PAIR = 11
"""Columns of `pair_features`."""

N_VIEW = N_PAIR + 5
"""Columns of `view_features`."""

_MAX_LOG = 5.0
"""Limit on logarithmic features, and log cost ratio of a device that cannot run a group."""


@dataclass(frozen=True, eq=False)
class PlacetoGraph:
    """N groups to place on D devices, and their costs.

    Attributes:
        order: groups in the order of visits, `[N]`.
        edges: distinct directed pairs of neighbours, `[2, Q]`.
        allowed: which device can run which group, at least one each, `[N, D]`.
        work_ms: time of each group on each device, that of its slowest device where it cannot run, `[N, D]`.
        out_bytes: size of each group's outputs read by others, `[N]`.
        out_ms: mean time to transfer them to another device, `[N]`.
        submodel_ms: overhead of a submodel on each device, `[D]`.
        moves: costs of moving single groups.
        visits: groups in the order in which they are decided, `[N]`; None for `order`.
    """

    order: IntArray
    edges: IntArray
    allowed: BoolArray
    work_ms: FloatArray
    out_bytes: FloatArray
    out_ms: FloatArray
    submodel_ms: FloatArray
    moves: MoveCosts = field(repr=False)
    visits: IntArray | None = None

    @classmethod
    def of(cls, problem: Problem, table: CostTable) -> PlacetoGraph:
        """Return the graph of a problem with costs.

        A device must be allowed by the problem and by the table; for a group without such a device, by the table.

        Args:
            problem: the placement problem.
            table: its costs.
        """
        finite = np.isfinite(table.group_ms)
        both = problem.allowed & finite
        allowed = np.where(both.any(axis=1, keepdims=True), both, finite)
        dearest = np.where(allowed, table.group_ms, 0.0).max(axis=1, keepdims=True)
        pairs = max(1, table.n_devices * (table.n_devices - 1))
        return cls(
            order=problem.group_order,
            edges=problem.quotient.edges,
            allowed=allowed,
            work_ms=np.where(allowed, table.group_ms, dearest),
            out_bytes=_of_groups(table, table.traffic.n_bytes),
            out_ms=_of_groups(table, table.transfer_ms().sum(axis=(1, 2)) / pairs),
            submodel_ms=table.submodel_ms,
            moves=MoveCosts(table),
        )

    def __len__(self) -> int:
        """Return the number of groups N."""
        return len(self.order)

    @property
    def n_devices(self) -> int:
        """Number of devices D."""
        return int(self.allowed.shape[1])

    def repaired(self, device_of: IntArray) -> IntArray:
        """Return placements `[B, N]` with every group that cannot run on its device moved to its fastest device."""
        fastest = np.where(self.allowed, self.work_ms, np.inf).argmin(axis=1)
        return np.where(self.allowed[np.arange(len(self)), device_of], device_of, fastest)

    @cached_property
    def best_ms(self) -> FloatArray:
        """Time of each group on its fastest device, `[N]`."""
        return np.asarray(np.where(self.allowed, self.work_ms, np.inf).min(axis=1))

    @cached_property
    def unit_ms(self) -> float:
        """Unit of times: the mean time of a group on its fastest device."""
        return float(self.best_ms.mean()) or 1.0

    @cached_property
    def members(self) -> NDArray[np.float32]:
        """Whether groups (columns) are ancestors of, descendants of, or parallel to each group (row), `[3, N, N]`."""
        ancestors, descendants = _ancestors(len(self), self.edges)
        parallel = ~(ancestors | descendants | np.eye(len(self), dtype=bool))
        return np.stack([ancestors, descendants, parallel]).astype(np.float32)

    @cached_property
    def sets(self) -> NDArray[np.float32]:
        """Weights of the mean over each of these sets, `[3, N, N]`."""
        return np.asarray(self.members / np.maximum(self.members.sum(axis=2, keepdims=True), 1))

    @cached_property
    def neighbours(self) -> NDArray[np.float32]:
        """Weights of the mean over each group's neighbours, `[N, N]`."""
        near = np.zeros((len(self), len(self)), dtype=np.float32)
        near[self.edges[0], self.edges[1]] = near[self.edges[1], self.edges[0]] = 1.0
        return np.asarray(near / np.maximum(near.sum(axis=1, keepdims=True), 1.0))

    @cached_property
    def standing(self) -> FloatArray:
        """Constant pair features, `[N, D, 5]`: support, relative and absolute cost, overhead, device's total time."""
        ratio = np.log(np.maximum(self.work_ms, 1e-12) / np.maximum(self.best_ms, 1e-12)[:, None])
        alone = np.log(np.maximum(self.work_ms.sum(axis=0), 1e-12))
        columns = (
            self.allowed,
            np.where(self.allowed, np.clip(ratio, 0.0, _MAX_LOG), _MAX_LOG),
            _signed_log(self.work_ms / self.unit_ms),
            _signed_log(self.submodel_ms / self.unit_ms),
            np.clip(alone - alone.min(), 0.0, _MAX_LOG),
        )
        return np.stack([np.broadcast_to(column, self.allowed.shape) for column in columns], axis=2)


def _of_groups(table: CostTable, of_tensors: IntArray | FloatArray) -> FloatArray:
    """Return the sum over the tensors that each group writes, `[N]`, of numbers `[T]`."""
    return np.asarray(np.bincount(table.traffic.source, of_tensors, table.n_groups), dtype=np.float64)


def label_free(graph: PlacetoGraph, device_of: IntArray, visits: IntArray, current: int) -> FloatArray:
    """Return the published node features, each column divided by its maximum.

    Start times are those of sequential execution.

    Source: Placeto, arXiv 1906.08879, section 3.2, and its published code.

    Args:
        graph: the groups.
        device_of: placements, `[B, N]`.
        visits: number of visits of each group, `[N]`.
        current: the group to decide.

    Returns:
        `[B, 1, N, 5 + D]`.
    """
    work, start = _schedule(graph, device_of)
    columns = [
        work,
        np.broadcast_to(graph.out_bytes, work.shape),
        np.broadcast_to(visits, work.shape),
        np.broadcast_to(np.arange(len(graph)) == current, work.shape),
        start - start[:, current, None],
    ]
    raw = np.concatenate([np.stack(columns, axis=2), _one_hot(device_of, graph.n_devices)], axis=2)
    most = np.abs(raw).max(axis=1, keepdims=True)
    return np.asarray(raw / np.where(most > 0, most, 1.0))[:, None]


def view_features(graph: PlacetoGraph, device_of: IntArray, visits: IntArray, current: int) -> FloatArray:
    """Return node features relative to each device: pair features, and features of groups alone.

    All are ratios within the model and the machine, so that they apply to any machine; the published one-hot device is
    the bit "is on this device".

    Args:
        graph: the groups.
        device_of: placements, `[B, N]`.
        visits: number of visits of each group, `[N]`.
        current: the group to decide.

    Returns:
        `[B, D, N, F]`.
    """
    pairs = pair_features(graph, device_of, np.arange(len(graph)), graph.moves.all_ms(device_of))
    work, start = _schedule(graph, device_of)
    total = np.maximum(work.sum(axis=1, keepdims=True), 1e-12)
    columns = (
        _signed_log(graph.best_ms / graph.unit_ms),
        _signed_log(graph.out_ms / graph.unit_ms),
        visits / max(1, int(visits.max(initial=0))),
        np.arange(len(graph)) == current,
        (start - start[:, current, None]) / total,
    )
    shape = pairs.shape[:3]
    alone = [np.broadcast_to(np.broadcast_to(column, work.shape)[:, None], shape) for column in columns]
    return np.concatenate([pairs, np.stack(alone, axis=3)], axis=3)


def pair_features(graph: PlacetoGraph, device_of: IntArray, groups: IntArray, moved_ms: FloatArray) -> FloatArray:
    """Return features of groups on each device while all other groups stay.

    Args:
        graph: the groups.
        device_of: placements, `[B, N]`.
        groups: the groups to describe, `[n]`.
        moved_ms: their cost on each device while all others stay, ms `[B, n, D]`.

    Returns:
        `[B, D, n, F]`.
    """
    where = _one_hot(device_of, graph.n_devices)
    here = where[:, groups]
    cost = np.where(graph.allowed[groups], moved_ms, np.inf)
    least, now = cost.min(axis=2, keepdims=True), np.where(here > 0, moved_ms, 0.0).sum(axis=2, keepdims=True)
    work = graph.work_ms[groups]
    load = (where * np.where(where > 0, graph.work_ms, 0.0)).sum(axis=1)
    columns = (
        _signed_log((moved_ms - least) / graph.unit_ms),
        _signed_log((moved_ms - now) / graph.unit_ms),
        _signed_log((moved_ms - work) / graph.unit_ms),
        here,
        np.broadcast_to((load / np.maximum(load.sum(axis=1, keepdims=True), 1e-12))[:, None], here.shape),
    )
    near = np.matmul(graph.neighbours[groups], where)
    standing = np.broadcast_to(graph.standing[groups], (*here.shape, graph.standing.shape[2]))
    found = np.concatenate([standing, np.stack([*columns, near], axis=3)], axis=3)
    return np.asarray(found.transpose(0, 2, 1, 3))


def _schedule(graph: PlacetoGraph, device_of: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return duration and start time of each group in sequential execution, ms, two of `[B, N]`."""
    work = graph.work_ms[np.arange(len(graph)), device_of]
    start = np.empty_like(work)
    ordered = work[:, graph.order]
    start[:, graph.order] = np.cumsum(ordered, axis=1) - ordered
    return work, start


def _one_hot(device_of: IntArray, n_devices: int) -> FloatArray:
    return np.asarray(device_of[..., None] == np.arange(n_devices), dtype=np.float64)


def _signed_log(values: FloatArray) -> FloatArray:
    """Return sign(v) log(1 + abs(v)), at most `_MAX_LOG` in size."""
    return np.asarray(np.sign(values) * np.minimum(np.log1p(np.abs(values)), _MAX_LOG))


def _ancestors(n: int, edges: IntArray) -> tuple[BoolArray, BoolArray]:
    """Return ancestors and descendants (columns) of each group (row), two of `[N, N]`.

    Groups on a common cycle are ancestors and descendants of each other.
    """
    rank = component_rank(n, edges)
    behind = np.eye(int(rank.max(initial=-1)) + 1, dtype=bool)
    across = np.unique(rank[edges], axis=1)
    for source, target in across[:, np.argsort(across[1], kind="stable")].T.tolist():
        behind[target] |= behind[source]
    ancestors = behind[rank][:, rank]
    np.fill_diagonal(ancestors, False)
    return ancestors, np.ascontiguousarray(ancestors.T)
