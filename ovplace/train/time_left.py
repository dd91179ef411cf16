"""What a training expects of its later phases, from the pace of the earlier ones."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from math import inf

from ovplace.session.events import Listener, Progress
from ovplace.train.training_plan import TrainingPlan


class TimeLeft:
    """A listener that passes each step on with the seconds that the phases after it may take."""

    def __init__(self, plan: TrainingPlan, listener: Listener, clock: Callable[[], float] = time.monotonic) -> None:
        """Begin with the problems.

        Args:
            plan: the training.
            listener: what the steps are for.
            clock: seconds, monotonic.
        """
        self._plan, self._listener, self._clock = plan, listener, clock
        self._start, self._first = clock(), 0
        self._phase = "problems"
        self._problem_s = self._update_s = inf

    def __call__(self, event: Progress) -> None:
        """Pass a step on."""
        self._learn(event)
        self._listener(replace(event, later_s=self._later_s(event.phase)))

    def _learn(self, event: Progress) -> None:
        """Take the pace of the problems, and of the updates from the first one that is seen."""
        now = self._clock()
        if event.phase != self._phase:
            self._phase, self._start, self._first = event.phase, now, event.done
        elif event.phase == "problems":
            machines = len(self._plan.machines) + self._plan.config.random_machines
            self._problem_s = (now - self._start) / (event.done * machines)
        elif event.phase == "train":
            self._update_s = (now - self._start) / (event.done - self._first)

    def _later_s(self, phase: str) -> float:
        """Return how long the phases after one take; each held-out problem is solved, then trained on and placed."""
        if phase == "problems":
            return inf  # how long an update takes is not known yet
        config, cases = self._plan.config, 0 if phase == "evaluate" else self._cases
        solving_s = self._problem_s + config.solver_s if phase == "train" else 0.0
        training_s = config.per_graph * self._update_s / config.batch if config.per_graph else 0.0
        return cases * (solving_s + training_s) if cases else 0.0

    @property
    def _cases(self) -> int:
        """Number of held-out problems, if each machine can run each model."""
        models = sum(map(len, self._plan.held_out.values()))
        elsewhere = (models or len(self._plan.models)) * len(self._plan.held_out_machines)
        return models * len(self._plan.machines) + elsewhere
