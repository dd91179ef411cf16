"""Base class of placers that learn from one generation of placements at a time."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from ovplace.core.problem import Problem
from ovplace.graphs.op_graph import FloatArray, IntArray
from ovplace.placers._base.non_repeating import NonRepeatingPlacer


class GenerationalPlacer(NonRepeatingPlacer):
    """Asks for the next generation only when all placements of the last one are answered."""

    def __init__(self, problem: Problem) -> None:
        """Start with the first generation."""
        super().__init__(problem)
        self._generation: list[tuple[IntArray, float]] = []
        self._begun = 0

    @abstractmethod
    def _generation_size(self) -> int:
        """Return how many placements of the present generation are measured."""

    @abstractmethod
    def _finish_generation(self, choices: IntArray, ratios: FloatArray) -> None:
        """Prepare the next generation.

        Args:
            choices: device of each group in the placements of the finished generation, in order of asking, `[K, G]`.
            ratios: their latency ratios, infinite for failures, `[K]`.
        """

    def _capacity(self) -> float:
        return self._generation_size() - (self._asked - self._begun)

    def _update(self, choice: IntArray, ratio: float) -> None:
        self._generation.append((choice, ratio))
        if len(self._generation) == self._generation_size():
            choices, ratios = zip(*self._generation, strict=True)
            self._finish_generation(np.stack(choices), np.array(ratios))
            self._generation, self._begun = [], self._asked
