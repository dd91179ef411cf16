"""The optimum of a measured cost model by minimum cuts, measured, the model corrected, and again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ovplace.core.costs import CostTable
from ovplace.core.graph import FloatArray, IntArray
from ovplace.core.measurement import Trial
from ovplace.core.placement import Placement
from ovplace.core.problem import Problem
from ovplace.core.protocols import State
from ovplace.cost.certificate import Certificate
from ovplace.cost.fit import corrected
from ovplace.cost.solve import candidates, solve_pairwise
from ovplace.errors import PlacementError
from ovplace.seeds import generator

SUMMARY = "exact optimum of a measured cost model, for several weights of the transfers, refitted as it learns"


@dataclass(frozen=True)
class Config:
    """Settings.

    Attributes:
        weights: each gives a placement: the optimum where transfers cost that many times what was measured.
        rounds: times the model is solved; before each but the first it is fitted to all that was measured.
        sweeps: rounds that solve for all weights; later ones solve for weight 1.
        draws: times per round that costs of two devices are drawn anew where the fitted model brings nothing new.
        doubt: relative spread of the costs drawn.
        time_limit_s: of each solution for more than two devices, which takes a mixed-integer program.
    """

    weights: tuple[float, ...] = (1.0, 0.5, 2.0, 0.25, 4.0, 0.0)
    rounds: int = 40
    sweeps: int = 3
    draws: int = 5
    doubt: float = 0.3
    time_limit_s: float = 2.0

    def __post_init__(self) -> None:
        """Check the numbers."""
        if not self.weights or min(self.weights) < 0:
            raise ValueError(f"weights must be non-negative numbers, got {self.weights}")
        if self.rounds < 1 or self.time_limit_s <= 0 or self.doubt < 0:
            raise ValueError("rounds and time_limit_s must be positive, doubt not negative")


class Placer:
    """Solves the cost model for several boundary weights, measures the distinct solutions, refits, and solves again.

    Two devices are solved by a minimum cut of the pairwise model, more by a mixed-integer program; a descent under the
    full model follows, which also counts submodels. Where the fitted model brings nothing new, costs are drawn about it
    at random, as far as it is in doubt, and their optimum is measured (perturb-and-MAP, Papandreou and Yuille, ICCV
    2011).
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
        """Return up to `n` solutions not measured before; none when a round brings nothing new."""
        if not self._queue and self._round < self._config.rounds:
            self._queue = self._solved()
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

    def _solved(self) -> list[list[int]]:
        """Return what is new to measure where the model is solved as it is known now, else as it might be."""
        self._round += 1
        table, limit_s = self._fitted(), self._config.time_limit_s
        weights = self._config.weights if self._round <= self._config.sweeps else (1.0,)
        fresh = self._fresh(candidates(table, weights, limit_s))
        rng = generator(self._problem.seed, "placer", "min_cut", self._round)
        # With more devices a draw takes a mixed-integer program, up to a second instead of milliseconds.
        draws = iter(range(self._config.draws if table.n_devices == 2 else 0))
        while not fresh and next(draws, None) is not None:
            fresh = self._fresh(candidates(self._drawn(table, rng), (1.0,), limit_s))[:1]
        return fresh

    def _fresh(self, choices: Sequence[IntArray]) -> list[list[int]]:
        """Return those of the choices that stand for placements not measured yet, each once."""
        known = {self._problem.lift(told.choice).hash for told in self._told}
        fresh: dict[str, list[int]] = {}
        for choice in choices:
            fresh.setdefault(self._problem.lift(choice).hash, choice.tolist())
        return [choice for key, choice in fresh.items() if key not in known]

    def _drawn(self, table: CostTable, rng: np.random.Generator) -> CostTable:
        """Return the table with every cost multiplied by a log-normal number of spread `doubt`."""

        def doubted(costs: FloatArray) -> FloatArray:
            return np.asarray(costs * np.exp(self._config.doubt * rng.standard_normal(costs.shape)))

        return replace(
            table,
            group_ms=doubted(table.group_ms),
            saving_ms=doubted(table.saving_ms),
            latency_ms=doubted(table.latency_ms),
            submodel_ms=doubted(table.submodel_ms),
        )

    def _fitted(self) -> CostTable:
        """Return the model fitted to what was measured; ratios times one reference latency cancel the drift of time."""
        measured = [told for told in self._told if told.ratio is not None]
        if not measured:
            return self._table
        ratio = np.array([told.ratio for told in measured], dtype=np.float64)
        reference_ms = float(np.median(np.array([told.latency_ms for told in measured]) / ratio))
        device_of: IntArray = np.array([told.choice for told in measured], dtype=np.int64)
        return corrected(self._table, device_of, reference_ms * ratio)


class _Told(NamedTuple):
    """What was measured: device of each group, ratio to the reference (None for a failure), latency."""

    choice: list[int]
    ratio: float | None
    latency_ms: float | None


def _told(choice: list[int], trial: Trial) -> _Told:
    if not np.isfinite(trial.ratio):
        return _Told(choice, None, None)
    return _Told(choice, trial.ratio, trial.measurement.median_ms)
