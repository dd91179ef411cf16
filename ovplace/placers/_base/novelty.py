"""Placements that were not asked before: what a search that repeats nothing draws from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, product

import numpy as np

from ovplace.core.placement import Placement
from ovplace.core.problem import Problem
from ovplace.graphs.op_graph import IntArray


class Novelty:
    """The placements of a problem that are left, until none is.

    Attributes:
        seen: hashes of the placements that were given out, in order.
    """

    def __init__(self, problem: Problem, seen: Iterable[str] = ()) -> None:
        """Start with all placements but the `seen` ones."""
        self.seen: dict[str, None] = dict.fromkeys(seen)
        self._problem = problem
        self._counting = _every_choice(problem)

    def first_new(self, choices: Iterable[IntArray]) -> Placement | None:
        """Return the first new placement, which from then on is seen; None when none is left.

        Args:
            choices: devices of the groups, each `[G]`, to be tried one by one; where all were seen, the first new one
                in counting order is taken. Only tiny spaces come to that, if the choices vary.
        """
        for choice in chain(choices, self._counting):
            placement = self._problem.lift(choice)
            if placement.hash not in self.seen:
                self.seen[placement.hash] = None
                return placement
        return None


def _every_choice(problem: Problem) -> Iterator[IntArray]:
    """Yield every choice `[G]`; what was passed over once is seen for good, so that nobody has to look again."""
    options = [np.flatnonzero(row).tolist() for row in problem.allowed]
    return (np.array(choice, dtype=np.int64) for choice in product(*options))
