"""Placer that solves a measured cost model, measures the solutions, refits the model, and solves again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from math import inf

import numpy as np

from ovplace.core.certificate import Certificate
from ovplace.core.cost_table import CostTable
from ovplace.core.measurement import Trial
from ovplace.core.placement import Placement
from ovplace.core.problem import Problem
from ovplace.cost.solvers.local_descent import nearest
from ovplace.cost.solvers.portfolio import candidates, ranked, solve_pairwise, thorough_candidates
from ovplace.graphs.op_graph import IntArray
from ovplace.placers._base.cost_model import CostModelPlacer, check_weights
from ovplace.placers._base.log import Log
from ovplace.placers.min_cut.observation import Observation
from ovplace.placers.min_cut.refitted_model import RefittedModel
from ovplace.plugins.protocols import State
from ovplace.seeds import generator

SUMMARY = "exact optimum of a measured cost model for several weights of the transfers, refitted to the measurements"


@dataclass(frozen=True)
class Config:
    """Settings of the search by minimum cuts.

    Attributes:
        weights: factors on the transfer costs of the model, at least 0; each gives a placement, the optimum under the
            scaled costs.
        sweeps: number of times that all weights are solved, at least 1; the model is refitted before each solution.
        draws: after the sweeps, largest number of cost models in agreement with the measurements that are drawn and
            solved until the optimum of one is a new placement; at least 0.
        cost_noise: assumed relative error of the costs of the profile, at least 0: a standard deviation, of each cost
            alone and of all costs of a kind together. Draws use a larger one where the measurements show larger errors.
        time_limit_s: time limit in seconds of the mixed-integer program of the certificate, which is used for more
            than two devices, or where the model may exceed the memory of one; above 0. A call that has little time left
            takes less.
    """

    weights: tuple[float, ...] = (1.0, 0.5, 2.0, 0.25, 4.0, 0.0)
    sweeps: int = 3
    draws: int = 5
    cost_noise: float = 0.3
    time_limit_s: float = 10.0

    def __post_init__(self) -> None:
        """Check the ranges."""
        check_weights(self.weights)
        if self.sweeps < 1 or self.draws < 0 or not 0 <= self.cost_noise < inf or not self.time_limit_s > 0:
            raise ValueError(
                "sweeps and time_limit_s must be positive, draws and cost_noise not negative, got "
                f"{self.sweeps}, {self.time_limit_s}, {self.draws} and {self.cost_noise}"
            )


class Placer(CostModelPlacer):
    """Asks for the optima of a cost model that is refitted to all measurements.

    First come the optima for several weights of the transfers; then those of models drawn from what the measurements
    leave open (Thompson sampling: Russo et al., "A tutorial on Thompson sampling", 2018, section 4). Where these were
    all measured, the fastest new neighbour of the last one comes instead, under the model that was drawn; where it has
    none, a neighbour of the best placement.

    Two devices with memory for the whole model each are solved by a minimum cut of the pairwise model, others by
    expansion moves and, at the unscaled costs, by rounded linear relaxations. A local descent follows under the full
    model, which also counts submodels.
    """

    def __init__(self, problem: Problem, config: Config) -> None:
        """Start from the costs of the problem.

        Raises:
            PlacementError: the problem has no costs.
        """
        super().__init__(problem)
        self._config = config
        self._model, self._log = RefittedModel(problem, self._table), Log("told")
        self._solved = 0
        self._queue: list[list[int]] = []
        self._asked: dict[str, list[int]] = {}  # open choices by the hashes of their placements
        self._seen: set[str] = set()  # hashes of the observed placements
        self._told: set[bytes] = set()  # observed choices, which take less to look up
        self._exhausted: set[int] = set()  # observations without new neighbours

    def certificate(self, time_limit_s: float) -> Certificate:
        """Return value and lower bound of the optimum of the first model."""
        limit_s = min(time_limit_s, self._config.time_limit_s)
        return solve_pairwise(self._table, limit_s).certificate

    def ask(self, n: int) -> Sequence[Placement]:
        """Return up to `n` placements not measured before; none when all placements were."""
        if n > 0 and not self._queue:
            self._queue = self._solve()
        batch, self._queue = self._queue[:n], self._queue[n:]
        placements = [self._problem.lift(choice) for choice in batch]
        self._asked.update((placement.hash, choice) for placement, choice in zip(placements, batch, strict=True))
        return placements

    def tell(self, trials: Sequence[Trial]) -> None:
        """Record the measurements."""
        answered = [self._asked.pop(trial.placement.hash) for trial in trials]
        self._observe([Observation.of(choice, trial) for choice, trial in zip(answered, trials, strict=True)])
        self._seen.update(trial.placement.hash for trial in trials)

    @property
    def asynchronous(self) -> bool:
        """True: each answer refits the model, and what is open is not asked for again."""
        return True

    def state(self) -> State:
        """Return the observations, the placements that wait, and the number of solved weights."""
        asked = list(self._asked.values())
        return {"solved": self._solved, "queue": self._queue, "asked": asked, **self._log.state()}

    def restore(self, state: State) -> None:
        """Go on from `state`."""
        self._solved, self._queue = state["solved"], state["queue"]
        self._asked = {self._problem.lift(choice).hash: choice for choice in state["asked"]}
        self._observe([Observation(*row) for row in Log.rows("told", state)])
        self._seen = {self._problem.lift(observation.choice).hash for observation in self._model.observations}

    def _observe(self, observations: Sequence[Observation]) -> None:
        self._model.observe(observations)
        self._log.extend(observations)
        self._told.update(_bytes(observation.choice) for observation in observations)

    def _solve(self) -> list[list[int]]:
        """Return new choices `[G]`: optima of the refitted model, else what is drawn, else beside the best."""
        return self._after_failures() or self._optima() or self._drawn() or self._beside_best()

    def _after_failures(self) -> list[list[int]]:
        """Return the next single device while all that was measured has failed; none once something works.

        One of them runs: it tells what a gain is, and which assignments are not to blame.
        """
        observations = self._model.observations
        if not observations or any(observation.ratio is not None for observation in observations):
            return []
        return self._new(ranked(self._table, self._table.uniform_choices()))[:1]

    def _optima(self) -> list[list[int]]:
        """Return the new optima of the refitted model for the next weight that has any; none after the sweeps."""
        weights = self._config.weights
        if self._solved == self._config.sweeps * len(weights):
            return []
        table = self._model.costs()
        while self._solved < self._config.sweeps * len(weights):
            weight = weights[self._solved % len(weights)]
            self._solved += 1
            if new := self._new(thorough_candidates(table) if weight == 1.0 else candidates(table, weight)):
                return new
        return []

    def _drawn(self) -> list[list[int]]:
        """Return the new optimum of a model drawn from what the measurements leave open, or a neighbour, or none."""
        rng = generator(self._problem.seed, "placer", "min_cut", len(self._model.observations) + len(self._asked))
        found: list[IntArray] = []
        for _ in range(self._config.draws):
            table = self._model.drawn_costs(rng, self._config.cost_noise)
            found = candidates(table, quick=True)
            if new := self._new(found):
                return new[:1]
        return self._beside(table, found[0]) if found else []

    def _beside_best(self) -> list[list[int]]:
        """Return the fastest new neighbour, under the refitted model, of the best placement that has any, or none."""
        table = self._model.costs()
        observations = self._model.observations
        by_ratio = sorted(range(len(observations)), key=lambda i: _or_inf(observations[i].ratio))
        for i in by_ratio:
            if i in self._exhausted:
                continue
            if new := self._beside(table, np.array(observations[i].choice, dtype=np.int64)):
                return new
            self._exhausted.add(i)
        return []

    def _beside(self, table: CostTable, choice: IntArray) -> list[list[int]]:
        """Return the new neighbour `[G]` of a choice that is the fastest under a model, or none."""
        near = (near for near in nearest(table, choice) if self._is_new(near))
        return [found.tolist() for found in islice(near, 1)]

    def _new(self, choices: Iterable[IntArray]) -> list[list[int]]:
        """Return the choices whose placements were not measured yet, each placement once."""
        by_hash: dict[str, list[int]] = {}
        for choice in choices:
            by_hash.setdefault(self._problem.lift(choice).hash, choice.tolist())
        return [choice for key, choice in by_hash.items() if key not in self._seen and key not in self._asked]

    def _is_new(self, choice: IntArray) -> bool:
        """Return whether the placement was not measured yet; most neighbours late in a search were, as they are."""
        if choice.tobytes() in self._told:
            return False
        key = self._problem.lift(choice).hash
        return key not in self._seen and key not in self._asked


def _bytes(choice: list[int]) -> bytes:
    return np.array(choice, dtype=np.int64).tobytes()


def _or_inf(ratio: float | None) -> float:
    return np.inf if ratio is None else ratio
