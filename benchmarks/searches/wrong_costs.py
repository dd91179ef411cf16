"""Costs that are wrong, to see what placers that rely on them make of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from ovplace.core.cost_table import CostTable
from ovplace.graphs.op_graph import FloatArray
from ovplace.seeds import generator

KINDS = ("group_ms", "saving_ms", "latency_ms", "ms_per_byte", "submodel_ms")


def wrong_costs(spread: float, seed: int) -> Callable[[CostTable], CostTable]:
    """Return a function that multiplies each cost, and all those of a device together, by a log-normal factor.

    Args:
        spread: standard deviation of the factors' logarithms.
        seed: of the factors.
    """
    rng = generator(seed, "benchmark", "wrong_profile")

    def of(costs: CostTable) -> CostTable:
        changed: dict[str, Any] = {name: _wrong(getattr(costs, name), spread, rng) for name in KINDS}
        return replace(costs, **changed)

    return of


def _wrong(costs: FloatArray, spread: float, rng: np.random.Generator) -> FloatArray:
    together = rng.standard_normal(costs.shape[-1])  # a device's; of links, those to a device
    return costs * np.exp(spread * (rng.standard_normal(costs.shape) + together))
