"""Placers that repeat nothing and whose state is only what they were told."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from math import inf, isfinite
from typing import Any

import numpy as np

from ovplace.core.measurement import Trial
from ovplace.core.placement import Placement
from ovplace.core.problem import Problem
from ovplace.graphs.op_graph import FloatArray, IntArray
from ovplace.placers._base.novelty import Novelty
from ovplace.plugins import protocols
from ovplace.plugins.protocols import State
from ovplace.seeds import generator


class ReplayedPlacer(protocols.Placer):
    """Asks new placements until none is left, and goes on from a state by hearing its answers again.

    All random draws are keyed by counters, so that asking and hearing the same gives the same: populations, keys and
    streams need no saving, and the state of a search of 2,000 measurements is 2,000 numbers.
    """

    NAME = ""
    """Name of the placer, which keys its random draws."""

    def __init__(self, problem: Problem) -> None:
        """Begin with nothing asked."""
        self._problem = problem
        self._novelty = Novelty(problem)
        self._answers: list[list[float]] = []
        self._open: list[Placement] = []
        self._asked = 0

    @abstractmethod
    def _proposals(self, number: int) -> Iterator[IntArray]:
        """Yield choices `[G]` for the placement of this number, until a new one is among them or they end."""

    @abstractmethod
    def _learn(self, choice: IntArray, ratio: float) -> None:
        """Learn that a choice `[G]` took this ratio, infinite for a failure; in the order of asking."""

    def _room(self) -> float:
        """Return how many placements may be asked before an answer is needed."""
        return inf

    def ask(self, n: int) -> Sequence[Placement]:
        """Return up to `n` placements never asked before; none when the space is exhausted."""
        batch: list[Placement] = []
        while len(batch) < n and self._room() > 0 and (placement := self._next()) is not None:
            batch.append(placement)
            self._asked += 1
        self._open = batch or self._open
        return batch

    def tell(self, trials: Sequence[Trial]) -> None:
        """Learn from the answers, one by one."""
        if trials:
            self._hear([trial.ratio for trial in trials])

    def state(self) -> State:
        """Return the answers heard, ask by ask, with None for failures, and how many are open."""
        answers = [[ratio if isfinite(ratio) else None for ratio in ratios] for ratios in self._answers]
        return {"answers": answers, "open": len(self._open)}

    def restore(self, state: State) -> None:
        """Go on from `state`; the placer must be a new one."""
        if self._asked:
            raise ValueError(f"only a new placer can be restored, this one asked {self._asked} placements")
        data: Any = state
        for ratios in data["answers"]:
            self.ask(len(ratios))
            self._hear([inf if ratio is None else ratio for ratio in ratios])
        self.ask(data["open"])

    def _next(self) -> Placement | None:
        return self._novelty.first_new(self._proposals(self._asked))

    def _hear(self, ratios: list[float]) -> None:
        heard, self._open = self._open, []
        for placement, ratio in zip(heard, ratios, strict=True):
            self._learn(self._problem.lower(placement), ratio)
        self._answers.append(ratios)

    def _rng(self, *path: str | int) -> np.random.Generator:
        return generator(self._problem.seed, "placer", self.NAME, *path)

    def _uniform(self, number: int) -> Iterator[IntArray]:
        """Yield the choice of the device of this number for all groups `[G]`, where there is such a device."""
        if number < len(self._problem.devices):
            yield self._problem.uniform(number)

    def _scattered(self, rng: np.random.Generator) -> IntArray:
        """Return a random device for each group among those that can run it, `[G]`."""
        scores = rng.random(self._problem.allowed.shape)
        best: IntArray = np.where(self._problem.allowed, scores, -1.0).argmax(axis=1)
        return best


class GenerationalPlacer(ReplayedPlacer):
    """Learns from its answers a generation at a time: the next one is asked when all of the last are answered."""

    def __init__(self, problem: Problem) -> None:
        """Begin with the first generation."""
        super().__init__(problem)
        self._generation: list[tuple[IntArray, float]] = []
        self._begun = 0

    @abstractmethod
    def _size(self) -> int:
        """Return how many placements of this generation are measured."""

    @abstractmethod
    def _breed(self, choices: IntArray, ratios: FloatArray) -> None:
        """Prepare the next generation from the choices `[K, G]` and ratios `[K]` of this one, in the order asked."""

    def _room(self) -> float:
        return self._size() - (self._asked - self._begun)

    def _learn(self, choice: IntArray, ratio: float) -> None:
        self._generation.append((choice, ratio))
        if len(self._generation) == self._size():
            choices, ratios = zip(*self._generation, strict=True)
            self._breed(np.stack(choices), np.array(ratios))
            self._generation, self._begun = [], self._asked
