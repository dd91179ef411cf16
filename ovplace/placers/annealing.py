"""Simulated annealing as the field uses it: single moves, geometric cooling, restarts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import exp, inf, log

import numpy as np

from ovplace.core.problem import Problem
from ovplace.graphs.op_graph import IntArray
from ovplace.placers._base.replayed import ReplayedPlacer

SUMMARY = "simulated annealing (Kirkpatrick et al. 1983): moves one group at a time, cools, restarts when frozen"

WALK = 50
"""Steps over known placements before what is around counts as known."""

LEAPS = 20
"""Placements further and further away that are tried then."""


@dataclass(frozen=True)
class Config:
    """Settings.

    Attributes:
        uniform: measure each device alone first and start from the best; else from random devices.
        hot: temperature at the start and after a restart, in log ratio.
        cooling: factor from one temperature to the next.
        plateau: measurements at each temperature.
        cold: temperature below which the search counts as frozen and restarts from the best placement, in log ratio.
    """

    uniform: bool = True
    hot: float = 0.01
    cooling: float = 0.98
    plateau: int = 1
    cold: float = 0.001

    def __post_init__(self) -> None:
        """Check the ranges."""
        if not 0 < self.cold <= self.hot < inf:
            raise ValueError(f"temperatures must be 0 < cold <= hot, got cold {self.cold} and hot {self.hot}")
        if not 0 < self.cooling < 1:
            raise ValueError(f"cooling must be between 0 and 1, got {self.cooling}")
        if self.plateau < 1:
            raise ValueError(f"plateau must be at least 1, got {self.plateau}")


class Placer(ReplayedPlacer):
    """Walks from placement to placement, uphill with a chance that falls with the temperature.

    A step leads one group to another device. Steps to placements whose ratio is known take no measurement and do not
    cool; what is asked is the first unknown placement on the way.

    Source: Kirkpatrick, Gelatt and Vecchi, "Optimization by simulated annealing", Science 220, 1983; energy is the
    logarithm of the latency ratio.
    """

    NAME = "annealing"

    def __init__(self, problem: Problem, config: Config) -> None:
        """Start hot, with nothing known."""
        super().__init__(problem)
        self._config = config
        self._starts = len(problem.devices) if config.uniform else 1
        self._movable = np.flatnonzero(problem.allowed.sum(axis=1) > 1)
        self._known: dict[bytes, float] = {}
        self._here: IntArray = problem.allowed.argmax(axis=1)
        self._best = self._here
        self._ratio = self._best_ratio = inf
        self._cooled = 0

    def _proposals(self, number: int) -> Iterator[IntArray]:
        """Yield the start, the steps of the walk until one is new, and at last leaps."""
        rng = self._rng("walk", number)
        if number < self._starts:
            yield from self._uniform(number) if self._config.uniform else [self._scattered(rng)]
        if not len(self._movable):
            return
        for _ in range(WALK):
            choice = self._moved(1, rng)
            known = self._known.get(choice.tobytes())
            if known is None:
                yield choice  # not taken only if it is being measured
            else:
                self._step(choice, known, rng)
        yield from (self._moved(groups, rng) for groups in range(2, 2 + LEAPS))

    def _learn(self, choice: IntArray, ratio: float) -> None:
        """Step to the choice where that is allowed, cool, and restart when frozen."""
        self._known[choice.tobytes()] = ratio
        annealing = len(self._known) > self._starts
        if annealing or ratio < self._ratio:
            self._step(choice, ratio, self._rng("accept", len(self._known)))
        if ratio < self._best_ratio:
            self._best, self._best_ratio = choice, ratio
        self._cooled += annealing
        if self._temperature < self._config.cold:
            self._here, self._ratio, self._cooled = self._best, self._best_ratio, 0

    @property
    def _temperature(self) -> float:
        return self._config.hot * self._config.cooling ** (self._cooled // self._config.plateau)

    def _step(self, choice: IntArray, ratio: float, rng: np.random.Generator) -> None:
        """Go to the choice, or stay (Metropolis); a failure is left for anything, and entered from failures only."""
        if ratio <= self._ratio or rng.random() < exp(-log(ratio / self._ratio) / self._temperature):
            self._here, self._ratio = choice, ratio

    def _moved(self, groups: int, rng: np.random.Generator) -> IntArray:
        """Return where one is, with so many groups on other devices, `[G]`."""
        moving = rng.choice(self._movable, size=min(groups, len(self._movable)), replace=False)
        scores = np.where(self._problem.allowed[moving], rng.random((len(moving), len(self._problem.devices))), -1.0)
        scores[np.arange(len(moving)), self._here[moving]] = -1.0
        moved = self._here.copy()
        moved[moving] = scores.argmax(axis=1)
        return moved
