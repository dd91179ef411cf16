"""Random search: the level that every other placer has to beat."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ovplace.core.measurement import Trial
from ovplace.core.placement import Placement
from ovplace.core.problem import Problem
from ovplace.graphs.op_graph import IntArray
from ovplace.placers._base.novelty import Novelty
from ovplace.plugins import protocols
from ovplace.plugins.protocols import State
from ovplace.seeds import generator

SUMMARY = "random devices for random runs of groups"

TRIES = 20
"""Draws before the first unseen placement in counting order is taken; only tiny spaces come to that."""


@dataclass(frozen=True)
class Config:
    """Settings.

    Attributes:
        independent: share of placements in which each group draws its device by itself; in the others, runs of
            the group order do, and the number of runs is spread evenly over the orders of magnitude.
    """

    independent: float = 0.25

    def __post_init__(self) -> None:
        """Check the share."""
        if not 0 <= self.independent <= 1:
            raise ValueError(f"independent must be between 0 and 1, got {self.independent}")


class Placer(protocols.Placer):
    """Draws placements at several granularities, none twice."""

    def __init__(self, problem: Problem, config: Config) -> None:
        """Start the random stream."""
        self._problem, self._config = problem, config
        self._rng = generator(problem.seed, "placer", "random")
        self._novelty = Novelty(problem)

    def ask(self, n: int) -> Sequence[Placement]:
        """Return `n` placements never asked before, fewer when the space is exhausted."""
        batch: list[Placement] = []
        while len(batch) < n and (placement := self._novelty.first_new(self._draw() for _ in range(TRIES))) is not None:
            batch.append(placement)
        return batch

    def tell(self, trials: Sequence[Trial]) -> None:
        """Learn nothing: that is the point of it."""

    def state(self) -> State:
        """Return the random stream and what was asked."""
        return {"rng": self._rng.bit_generator.state, "seen": list(self._novelty.seen)}

    def restore(self, state: State) -> None:
        """Go on from `state`."""
        data: Any = state
        self._rng.bit_generator.state = data["rng"]
        self._novelty = Novelty(self._problem, data["seen"])

    def _draw(self) -> IntArray:
        """Return a device for each group, `[G]`: the allowed one that its run of groups scores highest."""
        run_of = self._runs()
        scores = self._rng.random((self._problem.n_groups, len(self._problem.devices)))[run_of]
        best: IntArray = np.where(self._problem.allowed, scores, -1.0).argmax(axis=1)
        return best

    def _runs(self) -> IntArray:
        """Return the run that each group belongs to, `[G]`."""
        groups = self._problem.n_groups
        if groups < 2 or self._rng.random() < self._config.independent:
            return np.arange(groups)
        runs = round(float(np.exp(self._rng.uniform(0.0, np.log(groups)))))
        starts = self._rng.choice(np.arange(1, groups), size=runs - 1, replace=False)
        run_of = np.empty(groups, dtype=np.int64)
        run_of[self._problem.group_order] = np.searchsorted(np.sort(starts), np.arange(groups), side="right")
        return run_of
