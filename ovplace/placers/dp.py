"""Optimum of a chain under the full cost model by dynamic programming, for several weights of the transfer costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ovplace.core.certificate import Certificate
from ovplace.core.cost_table import CostTable
from ovplace.core.measurement import Trial
from ovplace.core.placement import Placement
from ovplace.core.problem import Problem
from ovplace.cost.evaluate.latency import latency_ms
from ovplace.cost.solvers.dynamic_program import solve_chain
from ovplace.cost.solvers.min_cut import weighted
from ovplace.placers._base.cost_model import CostModelPlacer, check_weights
from ovplace.plugins.protocols import State

SUMMARY = (
    "exact optimum of a measured cost model by dynamic programming, of a chain or of a chain of parts of the model"
)


@dataclass(frozen=True)
class Config:
    """Settings of the dynamic program.

    Attributes:
        weights: factors on the measured transfer costs, at least 0; each gives a placement, the optimum under the
            scaled costs.
    """

    weights: tuple[float, ...] = (1.0, 0.5, 2.0, 0.25, 4.0, 0.0)

    def __post_init__(self) -> None:
        """Check the weights."""
        check_weights(self.weights)


class Placer(CostModelPlacer):
    """Asks for the distinct optima of all transfer weights, the fastest under the cost model first.

    Memory limits are ignored, as the certificate says.
    """

    def __init__(self, problem: Problem, config: Config) -> None:
        """Solve the problem for each weight.

        Raises:
            PlacementError: the problem has no costs, or no device can run all of some part of the chain.
        """
        super().__init__(problem)
        self._certificate = solve_chain(self._table).certificate
        self._waiting = _optima(self._table, config.weights)

    def certificate(self, time_limit_s: float) -> Certificate:
        """Return value and lower bound of the dynamic program, which is solved already."""
        return self._certificate

    def ask(self, n: int) -> Sequence[Placement]:
        """Return up to `n` of the optima not asked for yet."""
        batch, self._waiting = self._waiting[:n], self._waiting[n:]
        return [self._problem.lift(choice) for choice in batch]

    def tell(self, trials: Sequence[Trial]) -> None:
        """Ignore the answers."""

    @property
    def asynchronous(self) -> bool:
        """True: no placement depends on an answer."""
        return True

    def state(self) -> State:
        """Return the optima not asked for yet."""
        return {"waiting": [list(choice) for choice in self._waiting]}

    def restore(self, state: State) -> None:
        """Go on from `state`."""
        self._waiting = [list(choice) for choice in state["waiting"]]


def _optima(table: CostTable, weights: Sequence[float]) -> list[list[int]]:
    """Return the distinct optima, device of each group, the fastest under the unscaled costs first."""
    choices = [solve_chain(weighted(table, weight)).device_of for weight in weights]
    order = np.argsort(latency_ms(table, np.stack(choices)), kind="stable")
    return [list(choice) for choice in dict.fromkeys(tuple(choices[i].tolist()) for i in order)]
