"""Base class of placers that propose a fixed list of placements in the order of their predicted latency."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ovplace.core.measurement import Trial
from ovplace.core.placement import Placement
from ovplace.core.problem import Problem
from ovplace.cost.solvers.portfolio import ranked
from ovplace.graphs.op_graph import IntArray
from ovplace.placers._base.cost_model import CostModelPlacer
from ovplace.plugins.protocols import State


class RankedPlacer(CostModelPlacer):
    """Asks for each of its proposals once, the fastest under the cost model first; ignores the answers.

    A subclass passes its proposals to `__init__`. They must be the same each time it is built: the state is only the
    position in the list.
    """

    def __init__(self, problem: Problem, proposals: Iterable[IntArray]) -> None:
        """Rank the distinct proposals.

        Args:
            problem: the problem to place, with costs.
            proposals: device of each group in each proposal, `[G]`; those that cannot run, or exceed the memory of a
                device, are left out.

        Raises:
            PlacementError: the problem has no costs.
        """
        super().__init__(problem)
        self._choices = ranked(self._table, proposals)
        self._next = 0

    def ask(self, n: int) -> Sequence[Placement]:
        """Return the next `n` proposals, fewer at the end of the list."""
        batch = self._choices[self._next : self._next + n]
        self._next += len(batch)
        return [self._problem.lift(choice) for choice in batch]

    @property
    def asynchronous(self) -> bool:
        """True: what it asks does not depend on answers."""
        return True

    def tell(self, trials: Sequence[Trial]) -> None:
        """Ignore the answers."""

    def state(self) -> State:
        """Return the position in the list."""
        return {"next": self._next}

    def restore(self, state: State) -> None:
        """Go on from `state`."""
        self._next = state["next"]
