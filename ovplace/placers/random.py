"""Random search at several granularities, the baseline of all other placers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ovplace.core.measurement import Trial
from ovplace.core.placement import Placement
from ovplace.core.problem import Problem
from ovplace.graphs.op_graph import IntArray
from ovplace.placers._base.choices import highest_allowed
from ovplace.placers._base.log import Log
from ovplace.placers._base.unseen import UnseenPlacements
from ovplace.plugins import protocols
from ovplace.plugins.protocols import State
from ovplace.seeds import generator

SUMMARY = "random devices for random segments of the model"

MAX_DRAWS = 20
"""Draws before the first unseen placement in counting order is taken, which happens only in tiny search spaces."""


@dataclass(frozen=True)
class Config:
    """Settings of random search.

    Attributes:
        independent: fraction of the placements in which the devices of all groups are independent, 0 to 1. In the
            others, segments of the group order have one device each; the number of segments is log-uniform.
    """

    independent: float = 0.25

    def __post_init__(self) -> None:
        """Check the fraction."""
        if not 0 <= self.independent <= 1:
            raise ValueError(f"independent must be between 0 and 1, got {self.independent}")


class Placer(protocols.Placer):
    """Asks for random placements at several granularities, none twice."""

    def __init__(self, problem: Problem, config: Config) -> None:
        """Start the random stream."""
        self._problem, self._config = problem, config
        self._rng = generator(problem.seed, "placer", "random")
        self._unseen, self._asked = UnseenPlacements(problem), Log("seen")

    def ask(self, n: int) -> Sequence[Placement]:
        """Return `n` placements never asked for before, fewer when the search space is exhausted."""
        batch: list[Placement] = []
        while len(batch) < n and (placement := self._unseen.take(self._draw() for _ in range(MAX_DRAWS))) is not None:
            batch.append(placement)
            self._asked.add(placement.hash)
        return batch

    @property
    def asynchronous(self) -> bool:
        """True: what it asks does not depend on answers."""
        return True

    def tell(self, trials: Sequence[Trial]) -> None:
        """Ignore the answers."""

    def state(self) -> State:
        """Return the state of the random generator and the hashes of the placements asked for."""
        return {"rng": self._rng.bit_generator.state, **self._asked.state()}

    def restore(self, state: State) -> None:
        """Go on from `state`."""
        self._rng.bit_generator.state = state["rng"]
        seen = Log.rows("seen", state)
        self._unseen = UnseenPlacements(self._problem, seen)
        self._asked.extend(seen)

    def _draw(self) -> IntArray:
        """Return a device for each group, `[G]`: the one with the highest score in its segment that can run it."""
        segment_of = self._segments()
        scores = self._rng.random((self._problem.n_groups, len(self._problem.devices)))[segment_of]
        return highest_allowed(scores, self._problem.allowed)

    def _segments(self) -> IntArray:
        """Return the segment of the group order that each group belongs to, `[G]`."""
        groups = self._problem.n_groups
        if groups < 2 or self._rng.random() < self._config.independent:
            return np.arange(groups)
        count = round(float(np.exp(self._rng.uniform(0.0, np.log(groups)))))
        starts = self._rng.choice(np.arange(1, groups), size=count - 1, replace=False)
        segment_of = np.empty(groups, dtype=np.int64)
        segment_of[self._problem.group_order] = np.searchsorted(np.sort(starts), np.arange(groups), side="right")
        return segment_of
