"""The ask/tell loop: the placer proposes, placements are measured, the placer learns, until the budget is spent.

Resume equals uninterrupted: the placer's state is stored right after each `ask`, each trial when it is measured.
A run killed in between measures what is left of the batch, tells all of it, and goes on asking the same.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from ovplace.core.measurement import Candidate, MeasureSpec, Trial
from ovplace.core.placement import Placement
from ovplace.plugins.protocols import Placer
from ovplace.search.staging import Staging
from ovplace.session.deadline import TimeIsUpError
from ovplace.session.events import Listener, Progress
from ovplace.session.measurer import Measurer
from ovplace.store.run_db import RunStore

T = TypeVar("T")

IDLE = 200
"""Placements asked for in a row, none of them new, after which the placer is taken to be done."""


@dataclass(frozen=True)
class Budget:
    """Limits of a search.

    Attributes:
        measurements: placements measured; those answered by the store do not count.
        batch: placements asked for at a time.
    """

    measurements: int
    batch: int = 1


@dataclass
class Loop:
    """One search.

    Attributes:
        placer: proposes placements.
        measurer: measures them.
        reference: the candidate that each placement is timed in turns with.
        spec: how to time.
        budget: when to stop.
        origin: name of the placer.
        listener: is called with each step.
        staging: how placements are measured.
    """

    placer: Placer
    measurer: Measurer
    reference: Candidate
    spec: MeasureSpec
    budget: Budget
    origin: str
    listener: Listener
    staging: Staging

    def run(self) -> list[Trial]:
        """Search until the budget or the measurer's time is spent.

        Returns:
            All trials of the run, those of earlier calls included.
        """
        store, idle = self.measurer.store, 0
        trials = store.trials()
        pending, first = self._resume(store)
        while True:
            before = _measured(trials)
            if not self._answer(pending[len(trials) - first :], trials):
                return trials
            if pending:
                self._timed(lambda batch=trials[first:]: self.placer.tell(batch))  # type: ignore[misc]
            idle = idle + len(pending) if _measured(trials) == before else 0
            wanted = min(self.budget.batch, self.budget.measurements - _measured(trials))
            if wanted <= 0 or idle >= IDLE or self._time_is_up():
                return trials
            pending, first = list(self._timed(lambda n=wanted: self.placer.ask(n))), len(trials)  # type: ignore[misc]
            if not pending:
                return trials
            store.save_checkpoint(self.placer.state(), pending)

    def _resume(self, store: RunStore) -> tuple[list[Placement], int]:
        """Restore the placer to its last `ask`; return what it asked for and the number of its first trial."""
        checkpoint = store.checkpoint()
        if checkpoint is None:
            return [], 0
        self.placer.restore(checkpoint.state)
        return list(checkpoint.pending), checkpoint.first

    def _answer(self, open_: Sequence[Placement], trials: list[Trial]) -> bool:
        """Measure what is still open of a batch; return whether all of it is measured."""
        for placement in open_:
            if _measured(trials) >= self.budget.measurements or self._time_is_up():
                return False
            try:
                trials.append(self._trial(len(trials), placement))
            except TimeIsUpError:
                return False
            self._tell_listener(trials)
        return True

    def _trial(self, number: int, placement: Placement) -> Trial:
        candidate = self.staging.candidate(f"trial {number}", placement)
        key = self.measurer.key(candidate, [self.reference], self.spec)
        stored = self.measurer.store.find(key)
        cached = stored is not None
        stored = stored or self.measurer.measure_pair(candidate, self.reference, self.spec)
        trial = Trial(number, placement, stored.measurement, stored.ratio, self.origin, cached)
        self.measurer.store.add_trial(key, trial)
        return trial

    def _tell_listener(self, trials: Sequence[Trial]) -> None:
        last, best = trials[-1], min(trial.ratio for trial in trials)
        text = f"{last.ratio:.3f}" if last.measurement.ok else str(last.measurement.error)
        self.listener(Progress("search", _measured(trials), self.budget.measurements, text, best))

    def _time_is_up(self) -> bool:
        return self.measurer.deadline.left_s <= 0

    def _timed(self, act: Callable[[], T]) -> T:
        start = time.monotonic()
        value = act()
        self.measurer.seconds.placer += time.monotonic() - start
        return value


def _measured(trials: Sequence[Trial]) -> int:
    return sum(not trial.cached for trial in trials)
