"""A cost model that is refitted to the measurements of the search."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ovplace.core.cost_table import CostTable
from ovplace.core.measurement import Trial
from ovplace.cost.calibration.failure_model import failure_probabilities
from ovplace.cost.calibration.fit import choose_shrinkage, refit
from ovplace.cost.calibration.shrinkage import Shrinkage
from ovplace.cost.evaluate.latency import latency_ms
from ovplace.cost.solvers.penalise_failures import penalise_failures
from ovplace.graphs.op_graph import FloatArray, IntArray


class Observation(NamedTuple):
    """A measured placement.

    Attributes:
        choice: device of each group, `[G]`.
        ratio: latency over that of the reference measured at the same time; None for a failure.
        latency_ms: median latency in ms; None for a failure.
    """

    choice: list[int]
    ratio: float | None
    latency_ms: float | None

    @classmethod
    def of(cls, choice: list[int], trial: Trial) -> Observation:
        """Return the observation of a measured placement.

        Args:
            choice: device of each group, `[G]`.
            trial: its measurement.
        """
        if not np.isfinite(trial.ratio):
            return cls(choice, None, None)
        return cls(choice, trial.ratio, trial.measurement.median_ms)


class RefittedModel:
    """Measured costs of the parts of a model, corrected by the latency of whole placements.

    Attributes:
        observations: the placements measured so far, in order.
    """

    def __init__(self, table: CostTable) -> None:
        """Start from the costs of the parts, without observations."""
        self.observations: list[Observation] = []
        self._table = table
        self._shrinkage: tuple[int, Shrinkage | None] = (0, None)  # estimated from so many first trials

    def costs(self) -> CostTable:
        """Return the costs fitted to all observations, with a penalty on assignments that may cause failures."""
        return self._penalised(self._fitted())

    @property
    def _successes(self) -> list[Observation]:
        return [observation for observation in self.observations if observation.ratio is not None]

    def _fitted(self) -> CostTable:
        """Return the costs fitted to the latencies of the successful placements."""
        successes = self._successes
        count = _shrinkage_count(len(successes))
        if self._shrinkage[0] != count:
            self._shrinkage = count, choose_shrinkage(self._table, *_latencies(successes[:count]))
        return refit(self._table, *_latencies(successes), self._shrinkage[1]) if successes else self._table

    def _penalised(self, table: CostTable) -> CostTable:
        """Return the table with a penalty on assignments that may have caused the failures observed."""
        if all(observation.ratio is not None for observation in self.observations):
            return table
        choices = np.array([observation.choice for observation in self.observations], dtype=np.int64)
        ran = np.array([observation.ratio is not None for observation in self.observations])
        failure = failure_probabilities(choices, ran, table.n_devices)
        return penalise_failures(table, failure, self._best_known_ms(table))

    def _best_known_ms(self, table: CostTable) -> float:
        """Return the latency of the best placement known to run, observed or the reference, in ms."""
        if successes := self._successes:
            return min(_reference_ms(successes), float(latency_ms(table, _latencies(successes)[0]).min()))
        return float(latency_ms(table, table.uniform_choices()).min())


def _shrinkage_count(count: int) -> int:
    """Return the number of first successes from which the shrinkage of the fit is estimated, at most `count`.

    It grows by one up to eight, then by an eighth at a time: the estimate takes time cubic in their number, 0.5 s for
    300, whereas the fit itself takes 0.02 s.
    """
    first = 0
    while (more := first + 1 + first // 8) <= count:
        first = more
    return first


def _latencies(successes: Sequence[Observation]) -> tuple[IntArray, FloatArray]:
    """Return placements `[B, G]` and their latencies in ms `[B]`.

    A latency is a ratio times one reference latency, which cancels the drift of the devices over time.
    """
    ratio = np.array([observation.ratio for observation in successes], dtype=np.float64)
    choices = np.array([observation.choice for observation in successes], dtype=np.int64)
    return choices, _reference_ms(successes) * ratio


def _reference_ms(successes: Sequence[Observation]) -> float:
    """Return the median latency of the reference in ms."""
    return float(np.median([o.latency_ms / o.ratio for o in successes if o.latency_ms and o.ratio]))
