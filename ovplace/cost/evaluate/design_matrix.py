"""The full cost model as a matrix product: how often each parameter of a table counts in each placement.

`latency_ms` is linear in the table's numbers: `design_matrix(table, device_of) @ parameters(table)` is the same. This
is the form in which measurements can correct them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ovplace.core.cost_table import CostTable
from ovplace.cost.evaluate import terms
from ovplace.cost.evaluate.stages import Stages
from ovplace.graphs.op_graph import BoolArray, FloatArray, IntArray


def design_matrix(table: CostTable, device_of: IntArray) -> FloatArray:
    """Return how often each parameter counts in each placement, `[B, P]`; savings count negatively.

    Args:
        table: the costs of G groups on D devices; its numbers do not matter, except which groups can run where.
        device_of: device of each group under each placement, `[B, G]`; each group where it can run.
    """
    return _columns(table, (term.counts(table, device_of) for term in terms.TERMS))


def stage_matrix(table: CostTable, device_of: IntArray, stages: Stages) -> FloatArray:
    """Return how often each parameter counts in each stage of a placement, `[S, P]`: over all, as in `design_matrix`.

    Only submodels are counted by operations here, where a measurement told them; the whole counts them by groups.

    Args:
        table: as for `design_matrix`.
        device_of: device of each group, `[G]`; each group where it can run.
        stages: stages of the placement.
    """
    return _columns(table, (term.stage_counts(table, device_of, stages) for term in terms.TERMS))


def _columns(table: CostTable, found: Iterable[Mapping[str, terms.Counts]]) -> FloatArray:
    """Return the counts of parameters side by side, `[B, P]`, from those of each term's arrays."""
    counts = {name: of for each in found for name, of in each.items()}
    columns = [counts[name][:, kept] for name, kept in fitted_entries(table).items()]
    return np.concatenate(columns, axis=1).astype(np.float64)


def parameters(table: CostTable) -> FloatArray:
    """Return the parameters of a table, `[P]`: finite group times, savings, links, overheads of submodels."""
    return np.concatenate([getattr(table, name)[kept] for name, kept in fitted_entries(table).items()])


def with_parameters(table: CostTable, vector: FloatArray) -> CostTable:
    """Return the table with other parameters.

    Args:
        table: the source of all else.
        vector: parameters as `parameters` returns them, `[P]`; not negative.

    Raises:
        ValueError: the table has another number of parameters.
    """
    changed: dict[str, Any] = {}
    start = 0
    for name, kept in fitted_entries(table).items():
        array, end = np.array(getattr(table, name)), start + int(kept.sum())
        array[kept] = vector[start:end]
        changed[name], start = array, end
    if start != len(vector):
        raise ValueError(f"expected {start} parameters, got {len(vector)}")
    return replace(table, **changed)


def fitted_entries(table: CostTable) -> Mapping[str, BoolArray]:
    """Return which entries of each array of the table's terms are parameters: no infinite times, no link to oneself.

    The arrays are in the order of the table's fields, which is that of the parameter vector.
    """
    names = {name for term in terms.TERMS for name in term.parameters}
    axes = {name: axes for name, axes in table.axes().items() if name in names}
    found = {name: np.isfinite(getattr(table, name)) for name in axes}
    between_devices = ~np.eye(table.n_devices, dtype=bool)
    return {name: kept & between_devices if axes[name] == "DD" else kept for name, kept in found.items()}
