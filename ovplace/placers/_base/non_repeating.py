"""Base class of placers that never ask for a placement twice and whose state is the list of answers."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from math import inf, isfinite
from typing import Any

import numpy as np

from ovplace.core.measurement import Trial
from ovplace.core.placement import Placement
from ovplace.core.problem import Problem
from ovplace.graphs.op_graph import IntArray
from ovplace.placers._base.log import Log
from ovplace.placers._base.unseen import UnseenPlacements
from ovplace.plugins import protocols
from ovplace.plugins.protocols import State
from ovplace.seeds import generator


class NonRepeatingPlacer(protocols.Placer):
    """Asks for new placements until none is left; a state is restored by replaying its answers.

    A subclass says which placements to try (`_candidates`) and learns from each answer (`_update`). It draws random
    numbers only from `_rng`, keyed by counters, so that the same answers lead to the same questions. Populations,
    probabilities and random streams are thus no part of the state: it has one number a measurement.

    It is asynchronous: what it asks while answers are open follows from those that it has, in the order of their
    arrival. Where all that is open is answered at once, a row of the state holds the ratios alone.
    """

    NAME = ""
    """Name of the placer, which keys its random streams."""

    def __init__(self, problem: Problem) -> None:
        """Start with no placement asked for."""
        self._problem = problem
        self._unseen = UnseenPlacements(problem)
        self._answers = Log("answers")
        self._open: dict[int, Placement] = {}
        self._asked = self._answered = 0
        self._fresh = 0  # of those asked for, since the last answer

    @abstractmethod
    def _candidates(self, number: int) -> Iterator[IntArray]:
        """Yield choices `[G]` for the placement of this number; the first that is new is asked for."""

    @abstractmethod
    def _update(self, number: int, choice: IntArray, ratio: float) -> None:
        """Learn an answer; called in the order of arrival, which is that of asking where it waits for all answers.

        Args:
            number: number of the placement, as `_candidates` got it.
            choice: its devices, `[G]`.
            ratio: its latency ratio, infinite for a failure.
        """

    def _capacity(self) -> float:
        """Return how many more placements may be asked for at once where no answer is open."""
        return inf

    @property
    def asynchronous(self) -> bool:
        """True: each answer is learnt from alone."""
        return True

    def ask(self, n: int) -> Sequence[Placement]:
        """Return up to `n` placements never asked for before; none when all placements were."""
        return self._take(n if self._open else min(n, self._capacity()))

    def tell(self, trials: Sequence[Trial]) -> None:
        """Learn from the answers, one by one."""
        numbers = {placement.hash: number for number, placement in self._open.items()}
        if trials:
            self._apply([(numbers[trial.placement.hash], trial.ratio) for trial in trials])

    def state(self) -> State:
        """Return the answers between two asks, and how many placements were asked for since the last one.

        Ratios are None for failures. Answers to a part of what is open stand with their numbers.
        """
        return {**self._answers.state(), "open": self._fresh}

    def restore(self, state: State) -> None:
        """Go on from `state` by asking and learning again.

        Raises:
            ValueError: the placer was used already.
        """
        if self._asked:
            raise ValueError(f"only a new placer can be restored, this one asked {self._asked} placements")
        for row in Log.rows("answers", state):
            some: Any = row if isinstance(row, dict) else {"asked": len(row), "told": list(enumerate(row, self._asked))}
            self._take(some["asked"])
            self._apply([(number, inf if ratio is None else ratio) for number, ratio in some["told"]])
        self._take(state["open"])

    def _take(self, n: float) -> list[Placement]:
        batch: list[Placement] = []
        while len(batch) < n and (placement := self._unseen.take(self._candidates(self._asked))) is not None:
            batch.append(placement)
            self._open[self._asked] = placement
            self._asked += 1
        self._fresh += len(batch)
        return batch

    def _apply(self, told: list[tuple[int, float]]) -> None:
        row = [(number, ratio if isfinite(ratio) else None) for number, ratio in told]
        is_all = [number for number, _ in row] == list(self._open) and len(row) == self._fresh
        self._answers.add([ratio for _, ratio in row] if is_all else {"asked": self._fresh, "told": row})
        self._fresh = 0
        for number, ratio in told:
            self._answered += 1
            self._update(number, self._problem.lower(self._open.pop(number)), ratio)

    def _rng(self, *path: str | int) -> np.random.Generator:
        return generator(self._problem.seed, "placer", self.NAME, *path)

    def _uniform(self, number: int) -> Iterator[IntArray]:
        """Yield all groups on the device of this number, `[G]`, if there is such a device."""
        if number < len(self._problem.devices):
            yield self._problem.uniform(number)
