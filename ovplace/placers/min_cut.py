"""The optimum of a measured cost model by minimum cuts, measured, the model corrected, and again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from ovplace.core.certificate import Certificate
from ovplace.core.cost_table import CostTable
from ovplace.core.measurement import Trial
from ovplace.core.placement import Placement
from ovplace.core.problem import Problem
from ovplace.cost.calibration.failure_model import blame
from ovplace.cost.calibration.fit import Trust, corrected, trust
from ovplace.cost.evaluate.latency import latency_ms
from ovplace.cost.solvers.local_descent import moves
from ovplace.cost.solvers.penalise_failures import wary
from ovplace.cost.solvers.portfolio import candidates, ranked, solve_pairwise
from ovplace.graphs.op_graph import FloatArray, IntArray
from ovplace.placers._base.ranked import costs_of
from ovplace.plugins import protocols
from ovplace.plugins.protocols import State
from ovplace.seeds import generator

SUMMARY = "exact optimum of a measured cost model, for several weights of the transfers, refitted as it learns"


@dataclass(frozen=True)
class Config:
    """Settings.

    Attributes:
        weights: each gives a placement: the optimum where transfers cost that many times what the model says.
        sweeps: how often all weights are solved, the model fitted anew before each.
        draws: then, how often costs are drawn about the fitted model until their optimum is a new placement.
        doubt: relative spread of the costs drawn.
        time_limit_s: of the certificate's solution for more than two devices, which takes a mixed-integer program.
    """

    weights: tuple[float, ...] = (1.0, 0.5, 2.0, 0.25, 4.0, 0.0)
    sweeps: int = 3
    draws: int = 5
    doubt: float = 0.3
    time_limit_s: float = 10.0

    def __post_init__(self) -> None:
        """Check the numbers."""
        if not self.weights or min(self.weights) < 0:
            raise ValueError(f"weights must be non-negative numbers, got {self.weights}")
        if self.sweeps < 1 or self.draws < 0 or self.doubt < 0 or self.time_limit_s <= 0:
            raise ValueError("sweeps and time_limit_s must be positive, draws and doubt not negative")


class Placer(protocols.Placer):
    """Solves the cost model, measures the solution, fits the model to all that was measured, and solves again.

    First for several weights of the transfers; then for costs drawn at random about the fitted model, as far as it is
    in doubt (perturb-and-MAP, Papandreou and Yuille, ICCV 2011); where that brings nothing new, the neighbour of the
    best placement that the model thinks fastest.

    Two devices are solved by a minimum cut of the pairwise model, more by expansion moves; a descent under the full
    model follows, which also counts submodels.
    """

    @classmethod
    def needs_costs(cls, config: Config) -> bool:
        """Return that costs must be given."""
        return True

    def __init__(self, problem: Problem, config: Config) -> None:
        """Take the problem's costs as the first model."""
        self._problem, self._config, self._table = problem, config, costs_of(problem)
        self._solved = 0
        self._queue: list[list[int]] = []
        self._asked: list[list[int]] = []
        self._told: list[_Told] = []
        self._known: set[str] = set()  # hashes of what was told
        self._first: Certificate | None = None
        self._trust: tuple[int, Trust | None] = (0, None)  # of so many first trials; no state, as these say what it is

    @property
    def certificate(self) -> Certificate:
        """How good the optimum of the first model is; solved when asked for."""
        if self._first is None:
            self._first = solve_pairwise(self._table, self._config.time_limit_s).certificate
        return self._first

    def ask(self, n: int) -> Sequence[Placement]:
        """Return up to `n` placements not measured before; none when all placements were."""
        if n > 0 and not self._queue:
            self._queue = self._new()
        batch, self._queue = self._queue[:n], self._queue[n:]
        self._asked = batch
        return [self._problem.lift(choice) for choice in batch]

    def tell(self, trials: Sequence[Trial]) -> None:
        """Keep the latencies."""
        self._told += [_told(choice, trial) for choice, trial in zip(self._asked, trials, strict=True)]
        self._known.update(self._problem.lift(choice).hash for choice in self._asked)

    def state(self) -> State:
        """Return what was told, what waits, and how many weights were solved."""
        return {"solved": self._solved, "queue": self._queue, "asked": self._asked, "told": list(self._told)}

    def restore(self, state: State) -> None:
        """Go on from `state`."""
        data: Any = state
        self._solved, self._queue, self._asked = data["solved"], data["queue"], data["asked"]
        self._told = [_Told(*told) for told in data["told"]]
        self._known = {self._problem.lift(told.choice).hash for told in self._told}

    def _new(self) -> list[list[int]]:
        """Return what is new to measure: optima of the model as it is known, else as it might be, else a neighbour."""
        table, weights = self._wary(self._fitted()), self._config.weights
        while self._solved < self._config.sweeps * len(weights):
            weight = weights[self._solved % len(weights)]
            self._solved += 1
            if fresh := self._fresh(candidates(table, weight)):
                return fresh
        rng = generator(self._problem.seed, "placer", "min_cut", len(self._told))
        for _ in range(self._config.draws):
            if fresh := self._fresh(candidates(self._drawn(table, rng))):
                return fresh[:1]
        return next((fresh for near in self._nearby(table) if (fresh := self._fresh(near)[:1])), [])

    def _nearby(self, table: CostTable) -> Iterator[Iterable[IntArray]]:
        """Yield the neighbours of each placement measured, the best one first; the fastest by the model lead."""
        for told in sorted(self._told, key=lambda told: np.inf if told.ratio is None else told.ratio):
            yield ranked(table, moves(table, np.array(told.choice, dtype=np.int64)))

    def _fresh(self, choices: Iterable[IntArray]) -> list[list[int]]:
        """Return those of the choices that stand for placements not told yet, each once."""
        fresh: dict[str, list[int]] = {}
        for choice in choices:
            fresh.setdefault(self._problem.lift(choice).hash, choice.tolist())
        return [choice for key, choice in fresh.items() if key not in self._known]

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

    def _wary(self, table: CostTable) -> CostTable:
        """Return the table with a price on choices that may have made placements fail."""
        if all(told.ratio is not None for told in self._told):
            return table
        choices = np.array([told.choice for told in self._told], dtype=np.int64)
        ran = np.array([told.ratio is not None for told in self._told])
        return wary(table, blame(choices, ran, table.n_devices), self._known_ms(table))

    def _known_ms(self, table: CostTable) -> float:
        """Return the latency of the best placement known to run: of those told, or what they were compared with."""
        if measured := [told for told in self._told if told.ratio is not None]:
            return min(_reference_ms(measured), float(latency_ms(table, _seen(measured)[0]).min()))
        alone = np.repeat(np.arange(table.n_devices)[:, None], table.n_groups, axis=1)
        return float(latency_ms(table, alone).min())

    def _fitted(self) -> CostTable:
        """Return the model fitted to what was measured."""
        measured = [told for told in self._told if told.ratio is not None]
        first = _considered(len(measured))
        if self._trust[0] != first:
            self._trust = first, trust(self._table, *_seen(measured[:first]))
        return corrected(self._table, *_seen(measured), self._trust[1]) if measured else self._table


def _considered(count: int) -> int:
    """Return how many of the first trials say how far the fit may go: each of eight, then an eighth more at a time.

    Finding that out takes time with the cube of their number: 0.5 s for 300, where the fit itself takes 0.02 s.
    """
    first = 0
    while (more := first + 1 + first // 8) <= count:
        first = more
    return first


def _seen(measured: Sequence[_Told]) -> tuple[IntArray, FloatArray]:
    """Return placements `[B, G]` and their latencies; ratios times one reference latency cancel the drift of time."""
    ratio = np.array([told.ratio for told in measured], dtype=np.float64)
    return np.array([told.choice for told in measured], dtype=np.int64), _reference_ms(measured) * ratio


def _reference_ms(measured: Sequence[_Told]) -> float:
    """Return the latency of what placements were compared with."""
    return float(np.median([told.latency_ms / told.ratio for told in measured if told.latency_ms and told.ratio]))


class _Told(NamedTuple):
    """What was measured: device of each group, ratio to the reference (None for a failure), latency."""

    choice: list[int]
    ratio: float | None
    latency_ms: float | None


def _told(choice: list[int], trial: Trial) -> _Told:
    if not np.isfinite(trial.ratio):
        return _Told(choice, None, None)
    return _Told(choice, trial.ratio, trial.measurement.median_ms)
