"""Assembling a cost table from the times of a model's parts.

A group timed by itself takes longer than inside the whole: it pays the conversions and layout changes at its ends that
neighbours on the same device share or fuse. The difference between the times of two neighbours, each by itself, and of
both together is their saving; sums of parts without it are up to twice the whole.
"""

from __future__ import annotations

import numpy as np

from ovplace.core.cost_table import CostTable
from ovplace.core.problem import Problem
from ovplace.core.traffic import Traffic
from ovplace.cost.calibration.calibrate import bounded_savings, calibrate
from ovplace.cost.calibration.links import Links
from ovplace.cost.calibration.part_layout import PartLayout, PartTask, PartTimes
from ovplace.graphs.op_graph import BoolArray, FloatArray, IntArray, OpGraph


def assemble(problem: Problem, layout: PartLayout, times: PartTimes, links: Links, whole_ms: FloatArray) -> CostTable:
    """Return the cost table of a problem, calibrated on the latencies of the whole model.

    Args:
        problem: the groups to place.
        layout: the parts that were timed.
        times: the measured times of parts.
        links: costs of transfers and submodels.
        whole_ms: latency of the whole model on each device in ms, `[D]`; infinite where it does not run. One runs it.
    """
    unit_ms = _completed(times.units(layout), layout, whole_ms)
    saved, relative = _savings(layout, times, unit_ms)
    group_ms, saving_ms = _of_groups(problem, layout, unit_ms, saved, relative)
    table = CostTable(
        traffic=Traffic.between(problem.graph, problem.partition),
        edges=problem.quotient.edges,
        group_ms=group_ms,
        saving_ms=saving_ms,
        latency_ms=links.latency_ms,
        ms_per_byte=links.ms_per_byte,
        submodel_ms=links.submodel_ms,
        group_bytes=_constant_bytes(problem.graph, problem.partition.group_of, problem.n_groups),
        memory_bytes=np.full(len(problem.devices), np.inf),
        source="measured here",
    )
    return calibrate(table, whole_ms)


def _completed(unit_ms: FloatArray, layout: PartLayout, whole_ms: FloatArray) -> FloatArray:
    """Return times, with a share of the whole model's, by expected times, where units were not timed or failed alone.

    A device that runs the whole model, as at least one does, runs each unit among its neighbours, even one that failed
    without them. On any other device a unit that failed keeps its infinite cost.
    """
    whole = np.where(np.isfinite(whole_ms), whole_ms, np.min(whole_ms))
    share = np.outer(layout.unit_weight / layout.unit_weight.sum(), whole)
    unknown = np.isnan(unit_ms) | (np.isinf(unit_ms) & np.isfinite(whole_ms))
    return np.where(layout.allowed, np.where(unknown, share, unit_ms), np.inf)


def _savings(layout: PartLayout, times: PartTimes, unit_ms: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the saving of each pair on each device, `[P, D]`, and its median ratio to the smaller unit, `[D]`."""
    ends = np.stack([unit_ms[layout.pairs[0]], unit_ms[layout.pairs[1]]])
    smaller = np.where(np.isfinite(ends).all(axis=0), ends.min(axis=0), 0.0)
    together = np.array(
        [
            [times.median(PartTask((a, b), d)) for d in range(unit_ms.shape[1])]
            for a, b in zip(*layout.pairs.tolist(), strict=True)
        ]
    ).reshape(smaller.shape)
    with np.errstate(invalid="ignore"):
        saved = np.clip(ends.sum(axis=0) - together, 0.0, smaller)  # a pair that failed saves nothing
        relative = np.array([_median(saved[:, d] / smaller[:, d], smaller[:, d] > 0) for d in range(unit_ms.shape[1])])
    return np.where(np.isfinite(saved), saved, relative * smaller), relative


def _median(values: FloatArray, where: BoolArray) -> float:
    chosen = values[where & np.isfinite(values)]
    return float(np.median(chosen)) if len(chosen) else 0.0


def _of_groups(
    problem: Problem, layout: PartLayout, unit_ms: FloatArray, saved: FloatArray, relative: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the times of groups `[G, D]` and the savings of edges `[Q, D]`; those of a unit sum to its time."""
    unit, edges = layout.unit_of, problem.quotient.edges
    group_ms = unit_ms[unit] * (layout.weight / layout.unit_weight[unit])[:, None]
    ends = np.sort(unit[edges], axis=0)
    inside = ends[0] == ends[1]
    smaller = np.minimum(group_ms[edges[0]], group_ms[edges[1]])
    saving_ms = relative * np.where(inside[:, None] & np.isfinite(smaller), smaller, 0.0)
    for d in range(unit_ms.shape[1]):
        saving_ms[:, d] = bounded_savings(edges, group_ms[:, d], saving_ms[:, d])
        lost = np.bincount(ends[0][inside], saving_ms[inside, d], minlength=len(unit_ms))
        factor = np.divide(unit_ms[:, d], unit_ms[:, d] - lost, out=np.ones(len(unit_ms)), where=lost > 0)
        group_ms[:, d] *= factor[unit]
        saving_ms[:, d] *= factor[ends[0]]
    saving_ms[~inside] = _shared_out(layout, saved, ends[:, ~inside])
    return np.where(problem.allowed, group_ms, np.inf), saving_ms


def _shared_out(layout: PartLayout, saved: FloatArray, ends: IntArray) -> FloatArray:
    """Return the savings of edges between units `[E, D]`: edges between the same two units have equal shares.

    Args:
        layout: the parts that were timed.
        saved: saving of each pair of units on each device, `[P, D]`.
        ends: the two units of each edge, the lower one first, `[2, E]`.
    """
    n = len(layout.members)
    pair = np.searchsorted(layout.pairs[0] * n + layout.pairs[1], ends[0] * n + ends[1])
    return np.asarray(saved[pair] / np.bincount(pair)[pair][:, None])


def _constant_bytes(graph: OpGraph, group_of: IntArray, n_groups: int) -> FloatArray:
    """Return the bytes of Constants that the operations of each group read, `[G]`."""
    from_constant = graph.is_constant[graph.edges[0]]
    rows = np.stack([group_of[graph.edges[1]], graph.edges[0]])[:, from_constant]
    _, first = np.unique(rows, axis=1, return_index=True)
    sizes = graph.out_bytes[from_constant][first].astype(np.float64)
    return np.bincount(rows[0, first], weights=sizes, minlength=n_groups).astype(np.float64)
