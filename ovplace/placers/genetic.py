"""Genetic algorithm with biased random keys (BRKGA), as in REGAL without its learned distributions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ovplace.core.problem import Problem
from ovplace.graphs.op_graph import FloatArray, IntArray
from ovplace.placers._base.choices import highest_allowed
from ovplace.placers._base.generational import GenerationalPlacer

SUMMARY = "genetic algorithm with biased random keys (BRKGA, as in REGAL 2019): elites, mutants, biased crossover"

MAX_DRAWS = 20
"""Draws of an individual whose placement is new, each with a larger fraction of random keys."""


@dataclass(frozen=True)
class Config:
    """Settings of the genetic algorithm.

    Attributes:
        uniform: measure the placements on each single device as part of the first generation.
        population: number of individuals of a generation, at least 2.
        elites: fraction of the population that survives unchanged, the fastest; at least one individual, not all.
        mutants: fraction of the population with new random keys, 0 to 1.
        bias: probability that a child inherits a key from its elite parent, 0 to 1.
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
                f"the population must be at least 2, its elites at least 1 and not all; got {self.n_elites} elites of "
                f"{self.population}"
            )
        if self.n_elites + self.n_mutants > self.population:
            raise ValueError(f"elites and mutants must add up to at most 1, got {self.elites} and {self.mutants}")

    @property
    def n_elites(self) -> int:
        """Number of elites."""
        return round(self.elites * self.population)

    @property
    def n_mutants(self) -> int:
        """Number of mutants."""
        return round(self.mutants * self.population)


class Placer(GenerationalPlacer):
    """Evolves keys between 0 and 1, one for each group and device; a group runs on the device of its highest key.

    Source: Goncalves and Resende, "Biased random-key genetic algorithms for combinatorial optimization", Journal of
    Heuristics 17, 2011; keys for placements: Paliwal et al., "REGAL", arXiv 1905.02494.

    Attributes:
        keys: keys of the population, best first, `[P, G, D]`.
        ratios: latency ratio of each individual of the population, `[P]`.
        offspring: keys of each individual that is asked for and not in the population yet, by its number, `[G, D]`.
    """

    NAME = "genetic"

    def __init__(self, problem: Problem, config: Config) -> None:
        """Start with an empty population; the first generation is drawn when it is asked for."""
        super().__init__(problem)
        self._config = config
        self.keys = np.empty((0, *problem.allowed.shape))
        self.ratios = np.empty(0)
        self.offspring: dict[int, FloatArray] = {}

    def _generation_size(self) -> int:
        return self._config.population - (self._config.n_elites if len(self.keys) else 0)

    def _candidates(self, number: int) -> Iterator[IntArray]:
        """Yield the choice of the next individual; it is drawn again while its placement is not new."""
        rng, place = self._rng("keys", number), (number - self._begun) % self._generation_size()
        if self._config.uniform and number < len(self._problem.devices):
            self.offspring[number] = rng.random(self._problem.allowed.shape)
            yield from self._uniform(number)
        for attempt in range(MAX_DRAWS):
            self.offspring[number] = self._individual(place, attempt / MAX_DRAWS, rng)
            yield self._decode(self.offspring[number])

    def _individual(self, place: int, random_fraction: float, rng: np.random.Generator) -> FloatArray:
        """Return the keys of a mutant, or of a child with a fraction of them replaced by random ones, `[G, D]`."""
        config, keys = self._config, rng.random(self._problem.allowed.shape)
        if not len(self.keys) or place >= self._generation_size() - config.n_mutants:
            return keys
        elite = self.keys[rng.integers(config.n_elites)]
        other = self.keys[rng.integers(config.n_elites, config.population)]
        child = np.where(rng.random(keys.shape) < config.bias, elite, other)
        return np.where(rng.random(keys.shape) < random_fraction, keys, child)

    def _finish_generation(self, numbers: Sequence[int], choices: IntArray, ratios: FloatArray) -> None:
        """Replace all but the elites by the offspring, and sort the population by ratio."""
        born = zip(numbers, choices, strict=True)
        offspring = [self._encode(choice, self.offspring.pop(number)) for number, choice in born]
        elites = self._config.n_elites
        ratios = np.append(self.ratios[:elites], ratios)
        order = np.argsort(ratios, kind="stable")
        self.keys, self.ratios = np.concatenate([self.keys[:elites], offspring])[order], ratios[order]

    def _decode(self, keys: FloatArray) -> IntArray:
        """Return the device of the highest key of each group, `[G]`."""
        return highest_allowed(keys, self._problem.allowed)

    def _encode(self, choice: IntArray, keys: FloatArray) -> FloatArray:
        """Return the keys `[G, D]`, two of a group swapped where they do not decode to the measured choice `[G]`."""
        rows, decoded = np.arange(len(keys)), self._decode(keys)
        swapped = keys.copy()
        swapped[rows, choice], swapped[rows, decoded] = keys[rows, decoded], keys[rows, choice]
        return swapped
