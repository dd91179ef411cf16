"""Base class of placers that learn from one generation of placements at a time."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

import numpy as np

from ovplace.core.problem import Problem
from ovplace.graphs.op_graph import FloatArray, IntArray
from ovplace.placers._base.non_repeating import NonRepeatingPlacer


class GenerationalPlacer(NonRepeatingPlacer):
    """Learns from a generation when as many placements are answered.

    Where it is asked while answers are open, it does not wait for the last ones: what it asks beyond a generation is
    drawn from the last one that is complete, and is part of the next (a steady-state variant).
    """

    def __init__(self, problem: Problem) -> None:
        """Start with the first generation."""
        super().__init__(problem)
        self._generation: list[tuple[int, IntArray, float]] = []
        self._begun = 0  # answers before it

    @abstractmethod
    def _generation_size(self) -> int:
        """Return how many answers the present generation is complete with."""

    @abstractmethod
    def _finish_generation(self, numbers: Sequence[int], choices: IntArray, ratios: FloatArray) -> None:
        """Prepare the next generation.

        Args:
            numbers: numbers of the placements of the finished generation, in order of arrival, K of them.
            choices: device of each group in them, `[K, G]`.
            ratios: their latency ratios, infinite for failures, `[K]`.
        """

    def _capacity(self) -> float:
        return self._generation_size() - (self._asked - self._begun)

    def _update(self, number: int, choice: IntArray, ratio: float) -> None:
        self._generation.append((number, choice, ratio))
        if len(self._generation) == self._generation_size():
            numbers, choices, ratios = zip(*self._generation, strict=True)
            self._finish_generation(numbers, np.stack(choices), np.array(ratios))
            self._generation, self._begun = [], self._answered
