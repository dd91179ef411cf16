"""Placements that a search has not asked for yet."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, product

import numpy as np

from ovplace.core.placement import Placement
from ovplace.core.problem import Problem
from ovplace.graphs.op_graph import IntArray


class UnseenPlacements:
    """The placements of a problem that were not asked for yet; a search that takes from it repeats nothing.

    Attributes:
        seen: hashes of the placements taken, in the order of taking.
    """

    def __init__(self, problem: Problem, seen: Iterable[str] = ()) -> None:
        """Start with all placements but some.

        Args:
            problem: the problem to place.
            seen: hashes of placements that count as taken already.
        """
        self.seen: dict[str, None] = dict.fromkeys(seen)
        self._problem = problem
        self._remaining = _every_choice(problem)

    def take(self, candidates: Iterable[IntArray]) -> Placement | None:
        """Return the first unseen placement, which counts as seen from then on; None when none is left.

        Args:
            candidates: devices of the groups, each `[G]`, tried one by one and drawn no further than needed. When all
                of them are seen, the first unseen placement in counting order is taken; only in spaces of few
                placements does that happen, provided that the candidates vary.
        """
        return self.take_of(chain(candidates, self._remaining))

    def take_of(self, candidates: Iterable[IntArray]) -> Placement | None:
        """Return the first unseen placement of the candidates, as `take` does; None when all of them are seen."""
        for choice in candidates:
            placement = self._problem.lift(choice)
            if placement.hash not in self.seen:
                self.seen[placement.hash] = None
                return placement
        return None


def _every_choice(problem: Problem) -> Iterator[IntArray]:
    """Yield every choice `[G]`, the device of the last group changing fastest."""
    options = [np.flatnonzero(row).tolist() for row in problem.allowed]
    return (np.array(choice, dtype=np.int64) for choice in product(*options))
