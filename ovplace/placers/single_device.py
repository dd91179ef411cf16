"""Placements on a single device."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ovplace.core.measurement import Trial
from ovplace.core.placement import Placement
from ovplace.core.problem import Problem
from ovplace.plugins import protocols
from ovplace.plugins.protocols import State

SUMMARY = "all operations on one device, each device once"


@dataclass(frozen=True)
class Config:
    """No settings."""


class Placer(protocols.Placer):
    """Asks for the placement of all groups on each device; groups that it cannot run go to their first device."""

    def __init__(self, problem: Problem, config: Config) -> None:
        """Prepare the placements; devices with equal placements are asked for once."""
        uniform = (problem.lift(problem.uniform(d)) for d in range(len(problem.devices)))
        self._placements = list({placement.hash: placement for placement in uniform}.values())
        self._asked = 0

    def ask(self, n: int) -> Sequence[Placement]:
        """Return the next `n` placements."""
        batch = self._placements[self._asked : self._asked + n]
        self._asked += len(batch)
        return batch

    def tell(self, trials: Sequence[Trial]) -> None:
        """Ignore the answers."""

    @property
    def asynchronous(self) -> bool:
        """True: no placement depends on an answer."""
        return True

    def state(self) -> State:
        """Return the number of placements asked for."""
        return {"asked": self._asked}

    def restore(self, state: State) -> None:
        """Go on from `state`."""
        self._asked = int(state["asked"])
