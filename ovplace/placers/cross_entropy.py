"""The cross-entropy method: device probabilities of each group, fitted to the best placements."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ovplace.core.problem import Problem
from ovplace.graphs.op_graph import FloatArray, IntArray
from ovplace.placers._base.replayed import GenerationalPlacer

SUMMARY = "cross-entropy method (Rubinstein 1999; Post, NeurIPS 2018): device probabilities fitted to the elite"

TRIES = 20
"""Draws of a new placement, each nearer to uniformly random devices."""


@dataclass(frozen=True)
class Config:
    """Settings.

    Attributes:
        uniform: measure each device alone in the first generation.
        samples: placements between two updates: a generation.
        elites: best part of a generation that the probabilities are fitted to.
        keep: the elite of a generation stands for election in the next one, too.
        smoothing: weight of the elite in the new probabilities; the old ones have the rest.
        mixing: part of the draws that goes to uniformly random devices (Post's epsilon).
    """

    uniform: bool = True
    samples: int = 20
    elites: float = 0.2
    keep: bool = True
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
    """Draws a device for each group by itself, and moves the probabilities towards the elite's frequencies.

    Source: Rubinstein, "The cross-entropy method for combinatorial and continuous optimization", Methodology and
    Computing in Applied Probability 1, 1999; smoothing: de Boer et al., "A tutorial on the cross-entropy method",
    Annals of Operations Research 134, 2005; for placements: Gao, Chen and Li, "Post: device placement with
    cross-entropy minimization and proximal policy optimization", NeurIPS 2018, without its policy gradient.
    """

    NAME = "cross_entropy"

    def __init__(self, problem: Problem, config: Config) -> None:
        """Start with equal probabilities."""
        super().__init__(problem)
        self._config = config
        self._even: FloatArray = problem.allowed / problem.allowed.sum(axis=1, keepdims=True)
        self._odds = self._even
        self._elite = np.empty((0, problem.n_groups), dtype=np.int64)
        self._elite_ratios = np.empty(0)

    def _size(self) -> int:
        return self._config.samples

    def _proposals(self, number: int) -> Iterator[IntArray]:
        """Yield draws, with more and more chance in them."""
        rng = self._rng("sample", number)
        if self._config.uniform:
            yield from self._uniform(number)
        for attempt in range(TRIES):
            yield self._drawn(max(self._config.mixing, attempt / TRIES), rng)

    def _breed(self, choices: IntArray, ratios: FloatArray) -> None:
        """Move the probabilities to the frequencies of the elite, failures never among it."""
        config = self._config
        if config.keep:
            choices, ratios = np.concatenate([self._elite, choices]), np.append(self._elite_ratios, ratios)
        best = np.argsort(ratios, kind="stable")[: max(1, round(config.elites * config.samples))]
        best = best[np.isfinite(ratios[best])]
        self._elite, self._elite_ratios = choices[best], ratios[best]
        if len(best):
            frequency = (self._elite[:, :, None] == np.arange(len(self._problem.devices))).mean(axis=0)
            self._odds = (1 - config.smoothing) * self._odds + config.smoothing * frequency

    def _drawn(self, mixing: float, rng: np.random.Generator) -> IntArray:
        """Return a device for each group `[G]`: which of exponential clocks rings first goes by their rates."""
        rate = (1 - mixing) * self._odds + mixing * self._even
        clock = rng.standard_exponential(rate.shape) / np.maximum(rate, 1e-300)
        first: IntArray = np.where(self._problem.allowed, clock, np.inf).argmin(axis=1)
        return first
