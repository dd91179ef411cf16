"""The optimum of a measured cost model by minimum cuts, measured, the model corrected, and again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ovplace.core.costs import CostTable
from ovplace.core.graph import IntArray
from ovplace.core.measurement import Trial
from ovplace.core.placement import Placement
from ovplace.core.problem import Problem
from ovplace.core.protocols import State
from ovplace.cost.certificate import Certificate
from ovplace.cost.fit import fit
from ovplace.cost.solve import candidates, solve_pairwise
from ovplace.errors import PlacementError

SUMMARY = "exact optimum of a measured cost model, for several weights of the transfers, refitted as it learns"


@dataclass(frozen=True)
class Config:
    """Settings.

    Attributes:
        weights: each gives a placement: the optimum where transfers cost that many times what was measured.
        rounds: times the model is solved; before each but the first it is fitted to all that was measured.
        time_limit_s: of each solution for more than two devices, which takes a mixed-integer program.
    """

    weights: tuple[float, ...] = (1.0, 0.5, 2.0, 0.25, 4.0, 0.0)
    rounds: int = 6
    time_limit_s: float = 2.0

    def __post_init__(self) -> None:
        """Check the numbers."""
        if not self.weights or min(self.weights) < 0:
            raise ValueError(f"weights must be non-negative numbers, got {self.weights}")
        if self.rounds < 1 or self.time_limit_s <= 0:
            raise ValueError("rounds and time_limit_s must be positive")


class Placer:
    """Solves the cost model for several boundary weights, measures the distinct solutions, refits, and solves again.

    Two devices are solved by a minimum cut of the pairwise model, more by a mixed-integer program; a descent under the
    full model follows, which also counts submodels. A round that brings nothing new ends the search.
    """

    needs_costs: ClassVar[bool] = True

    def __init__(self, problem: Problem, config: Config) -> None:
        """Take the problem's costs as the first model."""
        if problem.costs is None:
            raise PlacementError(
                "the placer 'min_cut' needs the costs of the model's parts; give it a problem with costs"
            )
        self._problem, self._config = problem, config
        self._table: CostTable = problem.costs
        self._round = 0
        self._queue: list[list[int]] = []
        self._asked: list[list[int]] = []
        self._told: list[_Told] = []
        self._first: Certificate | None = None

    @property
    def certificate(self) -> Certificate:
        """How good the optimum of the first model is; solved when asked for."""
        if self._first is None:
            self._first = solve_pairwise(self._table, self._config.time_limit_s).certificate
        return self._first

    def ask(self, n: int) -> Sequence[Placement]:
        """Return up to `n` solutions not measured before; none when solving brings nothing new."""
        while not self._queue and self._round < self._config.rounds:
            if not self._solve():
                break
        batch, self._queue = self._queue[:n], self._queue[n:]
        self._asked = batch
        return [self._problem.lift(choice) for choice in batch]

    def tell(self, trials: Sequence[Trial]) -> None:
        """Keep the latencies."""
        self._told += [_told(choice, trial) for choice, trial in zip(self._asked, trials, strict=True)]

    def state(self) -> State:
        """Return what was told, what waits, and the round."""
        return {"round": self._round, "queue": self._queue, "asked": self._asked, "told": list(self._told)}

    def restore(self, state: State) -> None:
        """Go on from `state`."""
        data: Any = state
        self._round, self._queue, self._asked = data["round"], data["queue"], data["asked"]
        self._told = [_Told(*told) for told in data["told"]]

    def _solve(self) -> bool:
        """Solve the model as it is known now; return whether there is something new to measure."""
        self._round += 1
        choices = candidates(self._fitted(), self._config.weights, self._config.time_limit_s)
        known = {self._problem.lift(told.choice).hash for told in self._told}
        fresh: dict[str, list[int]] = {}
        for choice in choices:
            fresh.setdefault(self._problem.lift(choice).hash, choice.tolist())
        self._queue = [choice for key, choice in fresh.items() if key not in known]
        return bool(self._queue)

    def _fitted(self) -> CostTable:
        """Return the model fitted to what was measured; ratios times one reference latency cancel the drift of time."""
        measured = [told for told in self._told if told.ratio is not None]
        if not measured:
            return self._table
        ratio = np.array([told.ratio for told in measured], dtype=np.float64)
        reference_ms = float(np.median(np.array([told.latency_ms for told in measured]) / ratio))
        device_of: IntArray = np.array([told.choice for told in measured], dtype=np.int64)
        return fit(self._table, device_of, reference_ms * ratio).table


class _Told(NamedTuple):
    """What was measured: device of each group, ratio to the reference (None for a failure), latency."""

    choice: list[int]
    ratio: float | None
    latency_ms: float | None


def _told(choice: list[int], trial: Trial) -> _Told:
    if not np.isfinite(trial.ratio):
        return _Told(choice, None, None)
    return _Told(choice, trial.ratio, trial.measurement.median_ms)
