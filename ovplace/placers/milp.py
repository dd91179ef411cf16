"""The optimum of the full cost model by mixed-integer programming, then the optima for other transfer costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ovplace.core.certificate import FULL, Certificate
from ovplace.core.measurement import Trial
from ovplace.core.placement import Placement
from ovplace.core.problem import Problem
from ovplace.cost.solvers.certificate import Solution
from ovplace.cost.solvers.milp.solver import solve_milp
from ovplace.cost.solvers.min_cut import weighted
from ovplace.placers._base.ranked import costs_of
from ovplace.plugins import protocols
from ovplace.plugins.protocols import State

SUMMARY = "exact optimum of a measured cost model with the overhead of submodels and memory limits, any devices"


@dataclass(frozen=True)
class Config:
    """Settings.

    Attributes:
        weights: after the optimum, each gives a placement: the optimum where transfers cost that many times as much.
        gap: relative gap between value and bound at which the first solution is good enough.
        weighted_gap: the same for the others, which only have to be different and good.
        time_limit_s: of each solution; what is found within depends on the machine's speed only where it is reached.
    """

    weights: tuple[float, ...] = (0.5, 2.0, 0.25, 4.0)
    gap: float = 0.0
    weighted_gap: float = 0.05
    time_limit_s: float = 60.0

    def __post_init__(self) -> None:
        """Check the numbers."""
        if min(self.weights, default=0.0) < 0:
            raise ValueError(f"weights must not be negative, got {self.weights}")
        if min(self.gap, self.weighted_gap) < 0 or self.time_limit_s <= 0:
            raise ValueError("gaps must not be negative and time_limit_s must be positive")


class Placer(protocols.Placer):
    """Solves for one weight an ask, the true costs first, and asks for what is new; learns nothing from the answers."""

    @classmethod
    def needs_costs(cls, config: Config) -> bool:
        """Return that costs must be given."""
        return True

    def __init__(self, problem: Problem, config: Config) -> None:
        """Take the problem's costs."""
        self._problem, self._config, self._table = problem, config, costs_of(problem)
        self._solved = 0
        self._hashes: list[str] = []
        self._first: Certificate | None = None

    @property
    def certificate(self) -> Certificate:
        """How good the first solution is under the full model; solved when asked for before it was."""
        if self._first is None:
            self._first = self._solution(0).certificate
        return self._first

    def ask(self, n: int) -> Sequence[Placement]:
        """Return the next new solution, as soon as there is one; none when every weight was solved."""
        while n > 0 and self._solved <= len(self._config.weights):
            solution = self._solution(self._solved)
            self._first = self._first or solution.certificate
            self._solved += 1
            placement = self._problem.lift(solution.device_of)
            if placement.hash not in self._hashes:
                self._hashes.append(placement.hash)
                return [placement]
        return []

    def tell(self, trials: Sequence[Trial]) -> None:
        """Learn nothing: the model is fixed."""

    def state(self) -> State:
        """Return how many weights were solved, what was asked, and the first certificate."""
        return {
            "solved": self._solved,
            "hashes": list(self._hashes),
            "certificate": self._first and asdict(self._first),
        }

    def restore(self, state: State) -> None:
        """Go on from `state`."""
        data: Any = state
        self._solved, self._hashes = data["solved"], list(data["hashes"])
        self._first = data["certificate"] and Certificate(**data["certificate"])

    def _solution(self, number: int) -> Solution:
        """Return the optimum for the true costs (0) or for a weight."""
        config = self._config
        if number == 0:
            return solve_milp(self._table, FULL, config.time_limit_s, config.gap)
        table = weighted(self._table, config.weights[number - 1])
        return solve_milp(table, FULL, config.time_limit_s, config.weighted_gap)
