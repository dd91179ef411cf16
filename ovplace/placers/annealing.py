"""Simulated annealing: moves of one group, geometric cooling, restarts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf

import numpy as np

from ovplace.core.problem import Problem
from ovplace.graphs.op_graph import IntArray
from ovplace.placers._base.choices import random_choice
from ovplace.placers._base.metropolis import accepts
from ovplace.placers._base.non_repeating import NonRepeatingPlacer

SUMMARY = "simulated annealing (Kirkpatrick et al. 1983): moves of one group, geometric cooling, restarts when frozen"

MAX_STEPS = 50
"""Steps over measured placements after which the neighbourhood counts as exhausted."""

MAX_DISTANCE = 20
"""Most additional groups that one move changes when the neighbourhood is exhausted."""


@dataclass(frozen=True)
class Config:
    """Settings of simulated annealing.

    Attributes:
        uniform: measure the placements on each single device first and start from the best; otherwise start from a
            random placement.
        initial_temperature: temperature at the start and after a restart, in units of the log latency ratio.
        final_temperature: temperature below which the search restarts from the best placement, in units of the log
            latency ratio; above 0, at most `initial_temperature`.
        cooling_factor: factor from one temperature to the next, between 0 and 1.
        steps_per_temperature: number of measurements at each temperature, at least 1.
    """

    uniform: bool = True
    initial_temperature: float = 0.01
    final_temperature: float = 0.001
    cooling_factor: float = 0.98
    steps_per_temperature: int = 1

    def __post_init__(self) -> None:
        """Check the ranges."""
        if not 0 < self.final_temperature <= self.initial_temperature < inf:
            raise ValueError(
                "temperatures must be 0 < final_temperature <= initial_temperature, got final_temperature "
                f"{self.final_temperature} and initial_temperature {self.initial_temperature}"
            )
        if not 0 < self.cooling_factor < 1:
            raise ValueError(f"cooling_factor must be between 0 and 1, got {self.cooling_factor}")
        if self.steps_per_temperature < 1:
            raise ValueError(f"steps_per_temperature must be at least 1, got {self.steps_per_temperature}")


class Placer(NonRepeatingPlacer):
    """Moves one group at a time, and accepts slower placements with a probability that falls with the temperature.

    A step to a placement measured before uses its stored ratio and does not cool; the first placement on the way that
    was not measured is asked for. Where several machines measure, the next moves are drawn before the last ones are
    answered, and each answer is a step of the one chain.

    Source: Kirkpatrick, Gelatt and Vecchi, "Optimization by simulated annealing", Science 220, 1983; energy is the
    logarithm of the latency ratio.
    """

    NAME = "annealing"

    def __init__(self, problem: Problem, config: Config) -> None:
        """Start at the initial temperature."""
        super().__init__(problem)
        self._config = config
        self._starts = len(problem.devices) if config.uniform else 1
        self._movable = np.flatnonzero(problem.allowed.sum(axis=1) > 1)
        self._measured: dict[bytes, float] = {}
        self._current: IntArray = problem.allowed.argmax(axis=1)
        self._best = self._current
        self._current_ratio = self._best_ratio = inf
        self._cooling_steps = 0

    def _candidates(self, number: int) -> Iterator[IntArray]:
        """Yield the start, then neighbours of the walk until one is new, and finally more distant placements."""
        rng = self._rng("walk", number)
        if number < self._starts:
            yield from self._uniform(number) if self._config.uniform else [random_choice(self._problem.allowed, rng)]
        if not len(self._movable):
            return
        for _ in range(MAX_STEPS):
            choice = self._neighbour(1, rng)
            ratio = self._measured.get(choice.tobytes())
            if ratio is None:
                yield choice  # not taken only if it is being measured
            else:
                self._step(choice, ratio, rng)
        yield from (self._neighbour(n_groups, rng) for n_groups in range(2, 2 + MAX_DISTANCE))

    def _update(self, number: int, choice: IntArray, ratio: float) -> None:
        """Move to the choice if it is accepted, cool, and restart when frozen."""
        self._measured[choice.tobytes()] = ratio
        annealing = len(self._measured) > self._starts
        if annealing or ratio < self._current_ratio:
            self._step(choice, ratio, self._rng("accept", len(self._measured)))
        if ratio < self._best_ratio:
            self._best, self._best_ratio = choice, ratio
        self._cooling_steps += annealing
        if self.temperature < self._config.final_temperature:
            self._current, self._current_ratio, self._cooling_steps = self._best, self._best_ratio, 0

    @property
    def temperature(self) -> float:
        """Temperature of the next step, in units of the log latency ratio."""
        config = self._config
        return config.initial_temperature * config.cooling_factor ** (
            self._cooling_steps // config.steps_per_temperature
        )

    def _step(self, choice: IntArray, ratio: float, rng: np.random.Generator) -> None:
        """Move to the choice if the Metropolis rule accepts it."""
        if accepts(ratio, self._current_ratio, self.temperature, rng):
            self._current, self._current_ratio = choice, ratio

    def _neighbour(self, n_groups: int, rng: np.random.Generator) -> IntArray:
        """Return the current choice with this number of groups on other devices, `[G]`."""
        moving = rng.choice(self._movable, size=min(n_groups, len(self._movable)), replace=False)
        scores = np.where(self._problem.allowed[moving], rng.random((len(moving), len(self._problem.devices))), -1.0)
        scores[np.arange(len(moving)), self._current[moving]] = -1.0
        moved = self._current.copy()
        moved[moving] = scores.argmax(axis=1)
        return moved
