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
    """

    NAME = ""
    """Name of the placer, which keys its random streams."""

    def __init__(self, problem: Problem) -> None:
        """Start with no placement asked for."""
        self._problem = problem
        self._unseen = UnseenPlacements(problem)
        self._answers = Log("answers")
        self._pending: list[Placement] = []
        self._asked = 0

    @abstractmethod
    def _candidates(self, number: int) -> Iterator[IntArray]:
        """Yield choices `[G]` for the placement of this number; the first that is new is asked for."""

    @abstractmethod
    def _update(self, choice: IntArray, ratio: float) -> None:
        """Learn the latency ratio of a choice `[G]`, infinite for a failure; called in the order of asking."""

    def _capacity(self) -> float:
        """Return how many more placements may be asked for before an answer is needed."""
        return inf

    def ask(self, n: int) -> Sequence[Placement]:
        """Return up to `n` placements never asked for before; none when all placements were."""
        batch: list[Placement] = []
        while len(batch) < n and self._capacity() > 0 and (placement := self._next()) is not None:
            batch.append(placement)
            self._asked += 1
        self._pending = batch or self._pending
        return batch

    def tell(self, trials: Sequence[Trial]) -> None:
        """Learn from the answers, one by one."""
        if trials:
            self._apply([trial.ratio for trial in trials])

    def state(self) -> State:
        """Return the latency ratios of each answered `ask`, None for failures, and the number of open placements."""
        return {**self._answers.state(), "open": len(self._pending)}

    def restore(self, state: State) -> None:
        """Go on from `state` by asking and learning again.

        Raises:
            ValueError: the placer was used already.
        """
        if self._asked:
            raise ValueError(f"only a new placer can be restored, this one asked {self._asked} placements")
        data: Any = state
        for ratios in Log.rows("answers", state):
            self.ask(len(ratios))
            self._apply([inf if ratio is None else ratio for ratio in ratios])
        self.ask(data["open"])

    def _next(self) -> Placement | None:
        return self._unseen.take(self._candidates(self._asked))

    def _apply(self, ratios: list[float]) -> None:
        answered, self._pending = self._pending, []
        for placement, ratio in zip(answered, ratios, strict=True):
            self._update(self._problem.lower(placement), ratio)
        self._answers.add([ratio if isfinite(ratio) else None for ratio in ratios])

    def _rng(self, *path: str | int) -> np.random.Generator:
        return generator(self._problem.seed, "placer", self.NAME, *path)

    def _uniform(self, number: int) -> Iterator[IntArray]:
        """Yield all groups on the device of this number, `[G]`, if there is such a device."""
        if number < len(self._problem.devices):
            yield self._problem.uniform(number)
