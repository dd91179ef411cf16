"""Base class of placers that need the measured costs of the model's groups."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite

from ovplace.core.cost_table import CostTable
from ovplace.core.problem import Problem
from ovplace.errors import PlacementError
from ovplace.plugins import protocols


class CostModelPlacer(protocols.Placer):
    """Has the problem's costs at hand; the model is profiled before such a placer is built."""

    @classmethod
    def needs_costs(cls, config: object) -> bool:
        """Return that costs must be given."""
        return True

    def __init__(self, problem: Problem) -> None:
        """Take the problem and its costs.

        Raises:
            PlacementError: the problem has no costs.
        """
        self._problem, self._table = problem, costs_of(problem)


def costs_of(problem: Problem) -> CostTable:
    """Return the costs of a problem.

    Raises:
        PlacementError: the problem has no costs.
    """
    if problem.costs is None:
        raise PlacementError(
            "this placer needs the costs of the model's groups, which the problem lacks; profile first"
        )
    return problem.costs


def check_weights(weights: Sequence[float], least: int = 1) -> None:
    """Check factors on the costs of transfers.

    Args:
        weights: the factors.
        least: how many there must be.

    Raises:
        ValueError: there are fewer, or one is negative or not finite.
    """
    if len(weights) < least:
        raise ValueError(f"weights must have {least} or more non-negative numbers, got {weights}")
    if not all(isfinite(weight) and weight >= 0 for weight in weights):
        raise ValueError(f"weights must be finite non-negative numbers, got {weights}")
