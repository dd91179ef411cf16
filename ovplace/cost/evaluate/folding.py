"""Cost tables as exact solvers know them: further terms folded into the four basic ones, or left out."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ovplace.core.cost_table import CostTable
from ovplace.cost.evaluate import terms


def folded(table: CostTable) -> CostTable:
    """Return a table of the basic terms alone that costs the same, or less by the terms that `left_out` names."""
    for term in _further(table):
        without: dict[str, Any] = dict.fromkeys(term.parameters, 0.0)
        table = replace(term.fold(table) or table, **without)
    return table


def left_out(table: CostTable) -> tuple[str, ...]:
    """Return the labels of the terms of a table that `folded` drops."""
    return tuple(term.label for term in _further(table) if term.fold(table) is None)


def _further(table: CostTable) -> list[terms.CostTerm]:
    """Return the terms that are not basic, and not zero in this table."""
    return [
        term for term in terms.TERMS if not term.basic and any(getattr(table, name).any() for name in term.parameters)
    ]
