"""Optimum of the full cost model by mixed-integer linear programming, then the optima for other transfer costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import inf

from ovplace.core.certificate import FULL, Certificate
from ovplace.core.measurement import Trial
from ovplace.core.placement import Placement
from ovplace.core.problem import Problem
from ovplace.cost.solvers.milp.solver import solve_milp
from ovplace.cost.solvers.min_cut import weighted
from ovplace.cost.solvers.solution import Solution
from ovplace.placers._base.cost_model import CostModelPlacer, check_weights
from ovplace.plugins.protocols import State

SUMMARY = (
    "exact optimum of a measured cost model by mixed-integer programming, with submodel overhead and memory limits"
)


@dataclass(frozen=True)
class Config:
    """Settings of the mixed-integer program.

    Attributes:
        weights: factors on the measured transfer costs, at least 0; after the optimum under the measured costs, each
            gives a placement, the optimum under the scaled costs.
        gap: relative gap between value and lower bound at which the solver stops for the measured costs, at least 0.
        weighted_gap: relative gap at which the solver stops for scaled costs, at least 0.
        time_limit_s: time limit of each solution in seconds, above 0. Solutions that reach it depend on the speed of
            the machine.
    """

    weights: tuple[float, ...] = (0.5, 2.0, 0.25, 4.0)
    gap: float = 0.0
    weighted_gap: float = 0.05
    time_limit_s: float = 60.0

    def __post_init__(self) -> None:
        """Check the numbers."""
        check_weights(self.weights, least=0)
        if min(self.gap, self.weighted_gap) < 0 or self.time_limit_s <= 0:
            raise ValueError(
                "gap and weighted_gap must be at least 0 and time_limit_s positive, "
                f"got {self.gap}, {self.weighted_gap} and {self.time_limit_s}"
            )


class Placer(CostModelPlacer):
    """Solves for one weight a call of `ask`, the measured costs first, and asks for the solutions that are new."""

    def __init__(self, problem: Problem, config: Config) -> None:
        """Start with no weight solved.

        Raises:
            PlacementError: the problem has no costs.
        """
        super().__init__(problem)
        self._config = config
        self._solved = 0
        self._hashes: list[str] = []
        self._certificate: Certificate | None = None

    def certificate(self, time_limit_s: float) -> Certificate:
        """Return value and lower bound of the optimum under the measured costs, computed where nothing was asked."""
        return self._certificate or self._solution(0, time_limit_s).certificate

    def ask(self, n: int) -> Sequence[Placement]:
        """Return the next solution that is new; none when all weights were solved."""
        while n > 0 and self._solved <= len(self._config.weights):
            solution = self._solution(self._solved)
            self._certificate = self._certificate or solution.certificate
            self._solved += 1
            placement = self._problem.lift(solution.device_of)
            if placement.hash not in self._hashes:
                self._hashes.append(placement.hash)
                return [placement]
        return []

    def tell(self, trials: Sequence[Trial]) -> None:
        """Ignore the answers."""

    @property
    def asynchronous(self) -> bool:
        """True: no solution depends on an answer."""
        return True

    def state(self) -> State:
        """Return the number of solved weights, the hashes of the placements asked for, and the certificate."""
        return {
            "solved": self._solved,
            "hashes": list(self._hashes),
            "certificate": self._certificate and asdict(self._certificate),
        }

    def restore(self, state: State) -> None:
        """Go on from `state`."""
        self._solved, self._hashes = state["solved"], list(state["hashes"])
        self._certificate = state["certificate"] and Certificate(**state["certificate"])

    def _solution(self, number: int, time_limit_s: float = inf) -> Solution:
        """Return the optimum for the measured costs (number 0) or for a weight (number 1 and up)."""
        config, limit_s = self._config, min(time_limit_s, self._config.time_limit_s)
        if number == 0:
            return solve_milp(self._table, FULL, limit_s, config.gap)
        table = weighted(self._table, config.weights[number - 1])
        return solve_milp(table, FULL, limit_s, config.weighted_gap)
