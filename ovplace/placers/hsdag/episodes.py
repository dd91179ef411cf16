"""The open episodes of a search: drawn step by step, and drawn again from what is stored of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np

from ovplace.core.problem import Problem
from ovplace.graphs.op_graph import IntArray
from ovplace.placers.hsdag.network.policy import HsdagPolicy
from ovplace.placers.hsdag.rollout import Rollout

Rng = Callable[..., np.random.Generator]


@dataclass
class Episode:
    """An episode as far as it is drawn.

    Attributes:
        rollout: its steps.
        choices: the device of each group in each of them, `[G]`.
    """

    rollout: Rollout
    choices: list[IntArray] = field(default_factory=list)

    @property
    def n_groups(self) -> int:
        """Number of groups in the last step."""
        return len(self.rollout.steps[-1].devices)


class Episodes(dict[int, Episode]):
    """The open episodes by controller. A step is stored as the updates before its episode, and its redraws."""

    def __init__(self, problem: Problem, policy: HsdagPolicy, rng: Rng, most_redraws: int) -> None:
        """Start with none.

        Args:
            problem: the placement problem.
            policy: what is drawn from; its present weights are those of the steps that are drawn.
            rng: returns the random numbers of a path.
            most_redraws: attempts to replace a step whose placement is known.
        """
        super().__init__()
        self._problem, self._policy, self._rng, self._most = problem, policy, rng, most_redraws

    def draw(self, controller: int, updates: int, is_known: Callable[[str], bool]) -> list[int]:
        """Draw the next step of an episode until its placement is new, or often enough; return what is stored of it.

        Args:
            controller: whose episode it is.
            updates: number of updates of the policy before the episode.
            is_known: says of the hash of a placement whether there is no need to ask for it.
        """
        return [updates, self._draw(controller, updates, self._most, is_known)]

    def draw_again(self, controller: int, drawn: Iterable[tuple[int, int]]) -> None:
        """Draw the steps of an episode that was drawn before, from the same weights.

        Args:
            controller: whose episode it is.
            drawn: what is stored of each step.
        """
        for updates, redraws in drawn:
            self._draw(controller, updates, redraws, lambda _: True)

    def _draw(self, controller: int, updates: int, most: int, is_known: Callable[[str], bool]) -> int:
        """Draw a step, and again while its placement is known, so many times at most; return the number of redraws."""
        rollout, choices = self[controller].rollout, self[controller].choices
        owner = ("controller", controller) if controller else ()
        rng, redraws = self._rng(*owner, "step", updates, len(choices)), 0
        choice = rollout.draw(self._policy, rng)
        while redraws < most and is_known(self._problem.lift(choice).hash):
            rollout.undo()
            redraws += 1
            choice = rollout.draw(self._policy, rng, exploration_rate=redraws / self._most)
        choices.append(choice)
        return redraws
