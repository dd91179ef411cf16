"""A cost model that is refitted to the measurements of the search."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from math import isfinite

import numpy as np

from ovplace.core.cost_table import CostTable
from ovplace.core.problem import Problem
from ovplace.cost.calibration.equations import Equations
from ovplace.cost.calibration.failure_model import failure_probabilities
from ovplace.cost.calibration.prior import PriorScale
from ovplace.cost.calibration.refit import Refit
from ovplace.cost.evaluate.latency import latency_ms
from ovplace.cost.evaluate.stages import Stages, reader_shares
from ovplace.cost.solvers.penalise_failures import penalise_failures
from ovplace.cost.solvers.portfolio import best_known
from ovplace.graphs.op_graph import BoolArray, FloatArray, IntArray
from ovplace.placers.min_cut.observation import Observation


class RefittedModel:
    """Measured costs of the parts of a model, corrected by the latency of placements, or of their stages.

    Attributes:
        observations: the placements measured so far, in order.
    """

    def __init__(self, problem: Problem, table: CostTable) -> None:
        """Start from the costs of the parts, without observations.

        Args:
            problem: the model and its groups.
            table: their costs.
        """
        self.observations: list[Observation] = []
        self._problem, self._table = problem, table
        self._reader_share = reader_shares(problem.devices)
        self._refit = Refit(table)
        self._penalty_ms: FloatArray | None = None  # `[G, D]`; found when needed, anew after each observation

    def observe(self, observations: Iterable[Observation]) -> None:
        """Learn from measured placements."""
        self._penalty_ms = None
        for observation in observations:
            self.observations.append(observation)
            if equations := self._equations(observation):
                self._refit.add(equations)

    def _equations(self, observation: Observation) -> Equations | None:
        """Return what a placement says of the costs: of each stage if it was run stage by stage; None for nothing."""
        choice = np.array(observation.choice, dtype=np.int64)
        if not (observation.ratio and observation.latency_ms and self._table.runs(choice)):
            return None
        if observation.stages_ms:
            placed = self._problem.lift(choice)
            stages = Stages.of(self._problem.graph, self._problem.partition, placed.device_of, self._reader_share)
            if len(observation.stages_ms) == len(stages.stage_of_submodel) and min(observation.stages_ms) > 0:
                stages_ms = stages.summed(np.array(observation.stages_ms))
                whole = observation.ratio, observation.latency_ms
                return Equations.of_stages(self._table, choice, stages, stages_ms, whole)
        return Equations.of_whole(self._table, choice, observation.ratio, observation.latency_ms / observation.ratio)

    def costs(self) -> CostTable:
        """Return the costs fitted to all observations, with a penalty on assignments that may cause failures."""
        return self._penalised(self._refit.table())

    def drawn_costs(self, rng: np.random.Generator, doubt: float) -> CostTable:
        """Return costs drawn from what the observations leave open, with the same penalty.

        Args:
            rng: source of randomness.
            doubt: relative standard deviation of each cost, and of all costs of a kind together, before the first
                observation; more if the observations say so.
        """
        return self._penalised(self._refit.drawn(rng, PriorScale(overall=0.0, common=doubt, single=doubt)))

    def _penalised(self, table: CostTable) -> CostTable:
        """Return the table with a penalty on assignments that may have caused the failures observed."""
        ran = np.array([observation.ratio is not None for observation in self.observations], dtype=np.bool_)
        if ran.all():
            return table
        if self._penalty_ms is None:  # takes ten solutions of the model, more than a draw
            self._penalty_ms = self._found_penalty_ms(ran)
        return replace(table, group_ms=table.group_ms + self._penalty_ms)

    def _found_penalty_ms(self, ran: BoolArray) -> FloatArray:
        """Return the penalty that suits the fitted costs, `[G, D]`.

        Args:
            ran: which observations are no failures, `[B]`.
        """
        table = self._refit.table()
        choices = np.array([observation.choice for observation in self.observations], dtype=np.int64)
        failure = failure_probabilities(choices, ran, table.n_devices)
        penalised = penalise_failures(table, failure, self._best_known_ms(table, choices[ran]))
        runs = np.isfinite(table.group_ms)
        return np.subtract(penalised.group_ms, table.group_ms, out=np.zeros_like(table.group_ms), where=runs)

    def _best_known_ms(self, table: CostTable, successes: IntArray) -> float:
        """Return the latency in ms of the best placement known to run, observed or the reference; else the model's."""
        if not len(successes):
            alone_ms = float(latency_ms(table, table.uniform_choices()).min())
            return alone_ms if isfinite(alone_ms) else float(latency_ms(table, best_known(table)[None])[0])
        return min(self._refit.reference_ms, float(latency_ms(table, successes).min()))
