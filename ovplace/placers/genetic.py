"""A genetic algorithm with biased random keys, as in REGAL without its learned distributions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ovplace.core.problem import Problem
from ovplace.graphs.op_graph import FloatArray, IntArray
from ovplace.placers._base.replayed import GenerationalPlacer

SUMMARY = "genetic algorithm with biased random keys (BRKGA, as in REGAL 2019): elites, mutants, biased crossover"

TRIES = 20
"""Children drawn until one is new, each with more of its keys drawn anew."""


@dataclass(frozen=True)
class Config:
    """Settings.

    Attributes:
        uniform: measure each device alone in the first generation.
        population: individuals of a generation.
        elites: best part of the population, which lives on.
        mutants: part of the population that is drawn anew.
        bias: chance that a child has a key from its elite parent.
    """

    uniform: bool = True
    population: int = 20
    elites: float = 0.25
    mutants: float = 0.1
    bias: float = 0.6

    def __post_init__(self) -> None:
        """Check the ranges."""
        for name in ("elites", "mutants", "bias"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} must be between 0 and 1, got {getattr(self, name)}")
        if self.population < 2 or not 1 <= self.n_elites < self.population:
            raise ValueError(
                f"of a population of at least 2, at least 1 and not all must be elites; got {self.n_elites} of "
                f"{self.population}"
            )
        if self.n_elites + self.n_mutants > self.population:
            raise ValueError(f"elites and mutants must leave room, got {self.elites} and {self.mutants}")

    @property
    def n_elites(self) -> int:
        """Number of elites."""
        return round(self.elites * self.population)

    @property
    def n_mutants(self) -> int:
        """Number of mutants."""
        return round(self.mutants * self.population)


class Placer(GenerationalPlacer):
    """Breeds keys between 0 and 1, one for each group and device; a group goes to the device of its highest key.

    Source: Goncalves and Resende, "Biased random-key genetic algorithms for combinatorial optimization", Journal of
    Heuristics 17, 2011; keys for placements: Paliwal et al., "REGAL", arXiv 1905.02494.
    """

    NAME = "genetic"

    def __init__(self, problem: Problem, config: Config) -> None:
        """Start with no one; the first generation is drawn when it is asked for."""
        super().__init__(problem)
        self._config = config
        self._keys = np.empty((0, *problem.allowed.shape))
        self._ratios = np.empty(0)
        self._young = np.empty((config.population, *problem.allowed.shape))

    def _size(self) -> int:
        return self._config.population - (self._config.n_elites if len(self._keys) else 0)

    def _proposals(self, number: int) -> Iterator[IntArray]:
        """Yield what the keys of the next individual say; they are drawn anew where that is known."""
        rng, place = self._rng("keys", number), number - self._begun
        if self._config.uniform and number < len(self._problem.devices):
            self._young[place] = rng.random(self._problem.allowed.shape)
            yield from self._uniform(number)
        for attempt in range(TRIES):
            self._young[place] = self._individual(place, attempt / TRIES, rng)
            yield self._decoded(self._young[place])

    def _individual(self, place: int, anew: float, rng: np.random.Generator) -> FloatArray:
        """Return the keys of a mutant or of a child, a part of these drawn anew, `[G, D]`."""
        config, keys = self._config, rng.random(self._problem.allowed.shape)
        if not len(self._keys) or place >= self._size() - config.n_mutants:
            return keys
        elite = self._keys[rng.integers(config.n_elites)]
        other = self._keys[rng.integers(config.n_elites, config.population)]
        child = np.where(rng.random(keys.shape) < config.bias, elite, other)
        return np.where(rng.random(keys.shape) < anew, keys, child)

    def _breed(self, choices: IntArray, ratios: FloatArray) -> None:
        """Let the elites live on beside the young, best first."""
        young = [self._agreeing(keys, choice) for keys, choice in zip(self._young, choices, strict=False)]
        elites = self._config.n_elites
        ratios = np.append(self._ratios[:elites], ratios)
        order = np.argsort(ratios, kind="stable")
        self._keys, self._ratios = np.concatenate([self._keys[:elites], young])[order], ratios[order]

    def _decoded(self, keys: FloatArray) -> IntArray:
        """Return the device of the highest key of each group, `[G]`."""
        best: IntArray = np.where(self._problem.allowed, keys, -1.0).argmax(axis=1)
        return best

    def _agreeing(self, keys: FloatArray, choice: IntArray) -> FloatArray:
        """Return the keys `[G, D]`, swapped where they say something else than what was measured."""
        rows, said = np.arange(len(keys)), self._decoded(keys)
        swapped = keys.copy()
        swapped[rows, choice], swapped[rows, said] = keys[rows, said], keys[rows, choice]
        return swapped
