"""Every single device once: the simplest choices, as placements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ovplace.core.measurement import Trial
from ovplace.core.placement import Placement
from ovplace.core.problem import Problem
from ovplace.plugins import protocols
from ovplace.plugins.protocols import State

SUMMARY = "everything on one device, each device once"


@dataclass(frozen=True)
class Config:
    """There is nothing to set."""


class Placer(protocols.Placer):
    """Asks for the uniform placement of each device; groups that cannot run there go where they can."""

    def __init__(self, problem: Problem, config: Config) -> None:
        """Prepare the placements; devices that come out equal are asked once."""
        uniform = (problem.lift(problem.uniform(d)) for d in range(len(problem.devices)))
        self._placements = list({placement.hash: placement for placement in uniform}.values())
        self._asked = 0

    def ask(self, n: int) -> Sequence[Placement]:
        """Return the next `n` devices' placements."""
        batch = self._placements[self._asked : self._asked + n]
        self._asked += len(batch)
        return batch

    def tell(self, trials: Sequence[Trial]) -> None:
        """Learn nothing: what is asked does not depend on the answers."""

    def state(self) -> State:
        """Return how many were asked."""
        return {"asked": self._asked}

    def restore(self, state: State) -> None:
        """Go on from `state`."""
        self._asked = int(str(state["asked"]))
