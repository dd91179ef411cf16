"""The best placement on two devices under the pairwise model, as a minimum cut.

A cut between a source (device 0) and a sink (device 1) costs what the placement costs: the arc that a choice cuts
carries its price. Savings of neighbours make them cost less together, so that every term is submodular and the minimum
is exact (Kolmogorov and Zabih, "What energy functions can be minimized via graph cuts?", PAMI 2004, theorem 4.1).
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ovplace.core.certificate import PAIRWISE, Certificate
from ovplace.core.cost_table import CostTable
from ovplace.cost.evaluate.folding import folded, left_out
from ovplace.cost.evaluate.latency import pairwise_ms
from ovplace.cost.evaluate.terms import SubmodelOverhead
from ovplace.cost.solvers.simple_placements import simple_placements
from ovplace.cost.solvers.solution import Solution
from ovplace.graphs.dag import connected_labels
from ovplace.graphs.op_graph import FloatArray, IntArray

_LIMIT = 2**30 - 1
"""The capacity of what must not be cut: an arc and its opposite still fit into 32 bits together."""

ROUNDS = 2
"""Flows, each at a finer scale than the one before. After the first, the placement is within 1e-6 of the optimum, and
the bound is not as tight as it can be."""

_ENOUGH = 1e-9
"""Relative gap that needs no second round."""

_LEAVES_OUT = f"{SubmodelOverhead.label}, memory limits"

_Arcs = tuple[IntArray, IntArray, FloatArray]


@dataclass(frozen=True, eq=False)
class _Network:
    """Arcs with capacities in ms; nodes are G groups, auxiliary nodes, and at last the source and the sink.

    Attributes:
        n_nodes: number of nodes.
        tail: node at which each arc starts, `[A]`.
        head: node at which each arc ends, `[A]`.
        capacity_ms: infinite where an arc must not be cut, `[A]`.
        constant_ms: cost of every placement in addition to its cut.
        slack_ms: bound on what adding up floating point numbers may have changed.
    """

    n_nodes: int
    tail: IntArray
    head: IntArray
    capacity_ms: FloatArray
    constant_ms: float
    slack_ms: float


def solve_min_cut(table: CostTable, rounds: int = ROUNDS) -> Solution:
    """Return a placement with the lowest `pairwise_ms`.

    Args:
        table: the costs of G groups on two devices.
        rounds: flows at most; one is enough where nobody reads the certificate.

    Raises:
        ValueError: the table is not of two devices.

    Cost: in practice about linear in groups, edges and readers; `benchmarks/micro/solvers.py` prints it.
    """
    if table.n_devices != 2:
        raise ValueError(f"a minimum cut needs exactly 2 devices, got {table.n_devices}; use milp for more")
    start = time.perf_counter()
    costs = folded(table)
    device_of, value, bound = _minimum(_network(costs), costs, rounds)
    text = ", ".join((_LEAVES_OUT, *left_out(table)))
    certificate = Certificate("min_cut", PAIRWISE, value, min(bound, value), time.perf_counter() - start, text)
    return Solution(device_of, certificate)


def weighted(table: CostTable, weight: float) -> CostTable:
    """Return the table with transfers at `weight` times their cost.

    Args:
        table: the costs.
        weight: factor on the cost of transfers.

    Raises:
        ValueError: the weight is negative or not finite.
    """
    if not 0 <= weight < np.inf:
        raise ValueError(f"a boundary weight must be finite and not negative, got {weight}")
    return replace(table, latency_ms=table.latency_ms * weight, ms_per_byte=table.ms_per_byte * weight)


def full_bound_ms(table: CostTable, pairwise_bound_ms: float) -> float:
    """Return a lower bound for the full model from one for the pairwise model, in ms.

    Each connected part of the model makes at least one submodel, and that on a device where its groups can run.

    Args:
        table: the costs.
        pairwise_bound_ms: no placement costs less under the pairwise model.
    """
    cheapest = np.where(np.isfinite(table.group_ms), table.submodel_ms, np.inf).min(axis=1, initial=np.inf)
    part = connected_labels(table.n_groups, table.edges)
    overhead = np.zeros(part.max(initial=-1) + 1)
    np.maximum.at(overhead, part, cheapest)
    return pairwise_bound_ms + float(overhead.sum())


def _network(table: CostTable) -> _Network:
    tensors, n_nodes = _tensor_arcs(table)
    shifts, pairs = _saving_arcs(table)
    unary, constant = _unary_arcs(table.group_ms + shifts, n_nodes)
    tail, head, capacity = (np.concatenate(part) for part in zip(*unary, *tensors, *pairs, strict=True))
    saved = float(table.saving_ms.sum()) / 2
    # Every number takes part in at most as many additions as there are numbers, each off by at most eps of the sum.
    size = float(capacity[np.isfinite(capacity)].sum()) + abs(constant) + 4 * saved
    slack = size * (len(capacity) + table.n_groups) * float(np.finfo(np.float64).eps)
    return _Network(n_nodes + 2, tail, head, capacity, constant - saved, slack)


def _unary_arcs(cost: FloatArray, source: int) -> tuple[list[_Arcs], float]:
    group = np.arange(len(cost))
    low = cost.min(axis=1, initial=np.inf)
    to_sink = (np.full(len(cost), source), group, cost[:, 1] - low)
    return [to_sink, (group, np.full(len(cost), source + 1), cost[:, 0] - low)], float(low.sum())


def _tensor_arcs(table: CostTable) -> tuple[list[_Arcs], int]:
    """One reader: an arc each way. More: a node that a reader elsewhere drags along, so that the tensor counts once."""
    traffic, cost = table.traffic, table.transfer_ms()
    counts = np.diff(traffic.starts, append=len(traffic.readers))
    there, back = cost[:, 0, 1], cost[:, 1, 0]
    one, many = np.flatnonzero(counts == 1), np.flatnonzero(counts > 1)
    source, reader = traffic.source, traffic.readers[traffic.starts[one]]
    arcs = [(source[one], reader, there[one]), (reader, source[one], back[one])]
    aux = np.full(len(counts), -1)
    aux[many] = table.n_groups + np.arange(len(many))
    shared = np.flatnonzero(counts[traffic.tensor_of] > 1)
    readers, near = traffic.readers[shared], aux[traffic.tensor_of[shared]]
    endless = np.full(len(shared), np.inf)
    n = len(many)
    arcs += [(source[many], aux[many], there[many]), (near, readers, endless)]
    arcs += [(aux[many] + n, source[many], back[many]), (readers, near + n, endless)]
    return arcs, table.n_groups + 2 * n


def _saving_arcs(table: CostTable) -> tuple[FloatArray, list[_Arcs]]:
    """Savings a and b on the two devices: half their sum for parting, half their difference for each end's device."""
    a, b = table.saving_ms.T / 2
    shift = np.zeros((table.n_groups, 2))
    source, target = table.edges
    for end in (source, target):
        shift[:, 0] += np.bincount(end, b / 2 - a / 2, table.n_groups)
        shift[:, 1] += np.bincount(end, a / 2 - b / 2, table.n_groups)
    return shift, [(source, target, a + b), (target, source, a + b)]


def _minimum(network: _Network, table: CostTable, rounds: int) -> tuple[IntArray, float, float]:
    """Return the best placement, its latency, and what none goes below, ms.

    Capacities are rounded down to integers, so that the flow is one of the true network, and its value a bound. What
    is left of the true capacities carries another flow, at a finer scale: two rounds leave nothing to round.
    """
    options = simple_placements(table)
    values_ms = pairwise_ms(table, options)
    best: IntArray = options[values_ms.argmin()]
    best_ms = float(values_ms.min())
    bound = network.constant_ms - network.slack_ms
    ends = (network.tail, network.head)
    left = _csr(network.capacity_ms, ends, network.n_nodes)
    for _ in range(rounds):
        open_ms = best_ms - bound
        if open_ms <= _ENOUGH * abs(bound) + 2 * network.slack_ms:
            break
        scale = _LIMIT * (1 - 1e-9) / open_ms  # no cut of interest costs more
        flow, side = _max_flow(left, scale)
        cut = side[: table.n_groups]
        if (cut_ms := float(pairwise_ms(table, cut[None])[0])) < best_ms:
            best, best_ms = cut, cut_ms
        bound += flow.flow_value / scale
        left = left - flow.flow / scale
        left.data = np.maximum(left.data, 0.0)
    return best, best_ms, bound


def _max_flow(capacity_ms: Any, scale: float) -> tuple[Any, IntArray]:
    """Return scipy's maximum flow in whole 1 / `scale` ms, and which side of the minimum cut each node is on."""
    from scipy.sparse.csgraph import breadth_first_order, maximum_flow

    n = capacity_ms.shape[0]
    capacity = capacity_ms.copy()
    capacity.data = np.minimum(np.floor(capacity.data * scale), _LIMIT).astype(np.int32)
    capacity.eliminate_zeros()
    flow = maximum_flow(capacity, n - 2, n - 1)
    residual = capacity - flow.flow
    residual.eliminate_zeros()
    side = np.ones(n, dtype=np.int64)
    side[breadth_first_order(residual, n - 2, return_predecessors=False)] = 0
    return flow, side


def _csr(values: FloatArray, ends: tuple[IntArray, IntArray], n: int) -> Any:
    """Return a square matrix with parallel arcs added up, and the 32-bit indices that scipy's flow insists on."""
    from scipy.sparse import coo_array

    matrix = coo_array((values, tuple(end.astype(np.int32) for end in ends)), shape=(n, n)).tocsr()
    matrix.sum_duplicates()
    return matrix
