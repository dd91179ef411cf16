"""Search for the best two-way cut of the group order: the first part on one device, the rest on another."""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, permutations
from math import inf

import numpy as np

from ovplace.core.measurement import Trial
from ovplace.core.placement import Placement
from ovplace.core.problem import Problem
from ovplace.plugins import protocols
from ovplace.plugins.protocols import State

SUMMARY = "search for the best cut of the model into two parts, coarse to fine, without a cost model"


@dataclass(frozen=True)
class Config:
    """Settings of the search for a cut.

    Attributes:
        grid: number of equal parts of the group order between the cuts measured first, at least 1.
    """

    grid: int = 8

    def __post_init__(self) -> None:
        """Check the grid."""
        if self.grid < 1:
            raise ValueError(f"grid must be at least 1, got {self.grid}")


class Placer(protocols.Placer):
    """Measures evenly spaced cuts for each ordered pair of devices, then halves the gaps next to the best ones.

    A cut at position p puts the first p groups of `Problem.group_order` on the first device of the pair; 0 and G
    are the single-device placements. Latency along p is the sum of a smooth part (work moved from one device to the
    other) and of the transfer of the tensors that cross the cut, so the neighbours of a good cut are tried first.
    """

    def __init__(self, problem: Problem, config: Config) -> None:
        """Lay out the grid."""
        self._problem = problem
        self._pairs = list(permutations(range(len(problem.devices)), 2)) or [(0, 0)]
        grid = np.linspace(0, problem.n_groups, min(config.grid, problem.n_groups) + 1).round().astype(int)
        self._queue = [(pair, int(at)) for at in dict.fromkeys(grid.tolist()) for pair in range(len(self._pairs))]
        self._cuts: list[list[tuple[int, str]]] = [[] for _ in self._pairs]  # (position, placement hash), ascending
        self._ratios: dict[str, float] = {}

    def ask(self, n: int) -> Sequence[Placement]:
        """Return up to `n` cuts not measured before; none when all were."""
        batch: list[Placement] = []
        while len(batch) < n and (cut := self._next()) is not None:
            placement = self._placement(*cut)
            insort(self._cuts[cut[0]], (cut[1], placement.hash))
            if placement.hash not in self._ratios:
                self._ratios[placement.hash] = inf
                batch.append(placement)
        return batch

    def tell(self, trials: Sequence[Trial]) -> None:
        """Record the latency ratios."""
        for trial in trials:
            self._ratios[trial.placement.hash] = trial.ratio

    def state(self) -> State:
        """Return the cuts asked for, their ratios, and the queue of the grid."""
        return {"queue": list(self._queue), "cuts": [list(cuts) for cuts in self._cuts], "ratios": dict(self._ratios)}

    def restore(self, state: State) -> None:
        """Go on from `state`."""
        self._queue = [(pair, at) for pair, at in state["queue"]]
        self._cuts = [[(at, key) for at, key in cuts] for cuts in state["cuts"]]
        self._ratios = dict(state["ratios"])

    def _next(self) -> tuple[int, int] | None:
        """Return the next (pair, position) from the grid, then the middle of the most promising gap."""
        if self._queue:
            return self._queue.pop(0)
        gap = min(self._gaps(), default=None)
        return gap and (gap[2], gap[3])

    def _gaps(self) -> Iterator[tuple[float, int, int, int]]:
        """Yield (best ratio at its ends, minus its width, pair, middle) of each gap that holds unmeasured cuts."""
        for pair, cuts in enumerate(self._cuts):
            for (low, left), (high, right) in pairwise(cuts):
                if high - low > 1 and left != right:  # equal ends: all cuts between them are the same placement
                    yield min(self._ratios[left], self._ratios[right]), low - high, pair, (low + high) // 2

    def _placement(self, pair: int, position: int) -> Placement:
        first, second = self._pairs[pair]
        choice = self._problem.uniform(second)
        choice[self._problem.group_order[:position]] = first
        return self._problem.lift(choice)
