"""Cross-entropy method: device probabilities of each group, fitted to the best placements."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ovplace.core.problem import Problem
from ovplace.graphs.op_graph import FloatArray, IntArray
from ovplace.placers._base.generational import GenerationalPlacer

SUMMARY = "cross-entropy method (Rubinstein 1999; Post, NeurIPS 2018): device probabilities fitted to the best samples"

MAX_DRAWS = 20
"""Draws of a new placement, each with more weight on uniformly random devices."""


@dataclass(frozen=True)
class Config:
    """Settings of the cross-entropy method.

    Attributes:
        uniform: measure the placements on each single device as part of the first generation.
        samples: number of placements between two updates of the probabilities, at least 1.
        elites: fraction of a generation that the probabilities are fitted to, the fastest; above 0, at most 1.
        keep_elites: whether the elites of a generation compete with the samples of the next one.
        smoothing: weight of the elites' frequencies in the new probabilities, against the old probabilities; above 0,
            at most 1.
        mixing: weight of the uniform distribution over devices when a group's device is drawn (Post's epsilon), 0 to 1.
    """

    uniform: bool = True
    samples: int = 20
    elites: float = 0.2
    keep_elites: bool = True
    smoothing: float = 0.5
    mixing: float = 0.02

    def __post_init__(self) -> None:
        """Check the ranges."""
        if self.samples < 1:
            raise ValueError(f"samples must be at least 1, got {self.samples}")
        for name in ("elites", "smoothing"):
            if not 0 < getattr(self, name) <= 1:
                raise ValueError(f"{name} must be above 0 and at most 1, got {getattr(self, name)}")
        if not 0 <= self.mixing <= 1:
            raise ValueError(f"mixing must be between 0 and 1, got {self.mixing}")


class Placer(GenerationalPlacer):
    """Draws the devices of the groups independently, and moves the probabilities towards the elites' frequencies.

    Source: Rubinstein, "The cross-entropy method for combinatorial and continuous optimization", Methodology and
    Computing in Applied Probability 1, 1999; smoothing: de Boer et al., "A tutorial on the cross-entropy method",
    Annals of Operations Research 134, 2005; for placements: Gao, Chen and Li, "Post: device placement with
    cross-entropy minimization and proximal policy optimization", NeurIPS 2018, without its policy gradient.

    Attributes:
        probabilities: probability of each device for each group, before mixing, `[G, D]`.
    """

    NAME = "cross_entropy"

    def __init__(self, problem: Problem, config: Config) -> None:
        """Start with equal probabilities of all devices that can run a group."""
        super().__init__(problem)
        self._config = config
        self._even: FloatArray = problem.allowed / problem.allowed.sum(axis=1, keepdims=True)
        self.probabilities = self._even
        self._elites = np.empty((0, problem.n_groups), dtype=np.int64)
        self._elite_ratios = np.empty(0)

    def _generation_size(self) -> int:
        return self._config.samples

    def _candidates(self, number: int) -> Iterator[IntArray]:
        """Yield draws, each with more weight on the uniform distribution."""
        rng = self._rng("sample", number)
        if self._config.uniform:
            yield from self._uniform(number)
        for attempt in range(MAX_DRAWS):
            yield self._draw(max(self._config.mixing, attempt / MAX_DRAWS), rng)

    def _finish_generation(self, numbers: Sequence[int], choices: IntArray, ratios: FloatArray) -> None:
        """Move the probabilities towards the frequencies of the elites; failures are never elites."""
        config = self._config
        if config.keep_elites:
            choices, ratios = np.concatenate([self._elites, choices]), np.append(self._elite_ratios, ratios)
        best = np.argsort(ratios, kind="stable")[: max(1, round(config.elites * config.samples))]
        best = best[np.isfinite(ratios[best])]
        self._elites, self._elite_ratios = choices[best], ratios[best]
        if len(best):
            frequency = (self._elites[:, :, None] == np.arange(len(self._problem.devices))).mean(axis=0)
            self.probabilities = (1 - config.smoothing) * self.probabilities + config.smoothing * frequency

    def _draw(self, mixing: float, rng: np.random.Generator) -> IntArray:
        """Return a random device for each group, `[G]`.

        Of independent exponential variables, each is the smallest with a probability proportional to its rate.
        """
        rate = (1 - mixing) * self.probabilities + mixing * self._even
        clock = rng.standard_exponential(rate.shape) / np.maximum(rate, 1e-300)
        first: IntArray = np.where(self._problem.allowed, clock, np.inf).argmin(axis=1)
        return first
