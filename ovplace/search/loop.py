"""The ask/tell loop: the placer proposes, placements are measured, the placer learns, until the budget is spent.

Resume equals uninterrupted: the placer's state is stored right after each `ask`, each trial when it is measured.
A run killed in between measures what is left of the batch, tells all of it, and goes on asking the same.

Where several machines measure, a placer that can learn from any answer is asked again as soon as one is free; others
get as many placements at once as there are machines, and wait for all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from math import inf

from ovplace.core.measurement import Trial
from ovplace.core.placement import Placement
from ovplace.errors import DivergedError, StoreError
from ovplace.plugins.blame import blaming
from ovplace.plugins.protocols import Placer
from ovplace.search.requests import Answer, Requests
from ovplace.session.deadline import TimeIsUpError
from ovplace.session.events import Listener, Progress
from ovplace.session.measurer import Measurer

IDLE = 200
"""Placements asked for in a row, none of them new, after which a placer that does not end is taken to be done."""

AHEAD = 10
"""One placement more is asked for than there are machines for each of so many: they wait until one is free, and a
search on many machines asks for several at a time, each of which stores the placer's state."""


class UntoldTrials(dict[int, Trial]):
    """Trials that the placer was not told of yet, by number; the store has the others.

    Attributes:
        measured: how many of all trials the store did not answer.
        best_ratio: least ratio of all.
        last: highest number of a trial or of a placement asked for, -1 before the first.
    """

    def __init__(self, trials: Iterable[Trial], open_: Mapping[int, Placement]) -> None:
        """Start with the answers that there are.

        Args:
            trials: all trials so far.
            open_: placements whose answers the placer was not told of, by number.
        """
        super().__init__()
        self.measured, self.best_ratio, self.last = 0, float("inf"), max(open_, default=-1)
        for trial in trials:
            self.add(trial)
            if trial.number not in open_:
                del self[trial.number]

    def add(self, trial: Trial) -> None:
        """Add an answer."""
        self[trial.number] = trial
        self.measured += not trial.cached
        self.best_ratio = min(self.best_ratio, trial.ratio)
        self.last = max(self.last, trial.number)


@dataclass(frozen=True)
class Budget:
    """Limits of a search.

    Attributes:
        measurements: placements measured; those answered by the store do not count. None for no limit.
        batch: placements asked for at a time.
    """

    measurements: int | None
    batch: int = 1

    def left(self, measured: int) -> float:
        """Return how many placements may still be measured.

        Args:
            measured: so far.
        """
        return inf if self.measurements is None else self.measurements - measured


@dataclass
class Loop:
    """One search.

    Attributes:
        placer: proposes placements.
        measurer: keeps what is measured.
        requests: have placements measured.
        budget: when to stop.
        origin: name of the placer.
        listener: is called with each step.
        suffices: whether the search ends with a trial.
        diverged: what to do where the placer's policy has diverged, which ends the search; empty where it has not.
    """

    placer: Placer
    measurer: Measurer
    requests: Requests
    budget: Budget
    origin: str
    listener: Listener
    suffices: Callable[[Trial], bool] = lambda _: False
    diverged: str = field(default="", init=False)

    def run(self) -> list[Trial]:
        """Search until the budget or the measurer's time is spent, or a trial suffices.

        Returns:
            All trials of the run, those of earlier calls included.

        Raises:
            OvplaceError: nothing can measure any more; what was measured is in the store.
        """
        try:
            self._search()
        except TimeIsUpError:
            pass
        except DivergedError as error:
            self.diverged = str(error)
        finally:
            self.requests.cancel()
        return self.measurer.store.trials()

    def _search(self) -> None:
        idle, open_ = 0, self._resume()
        untold = UntoldTrials(self.measurer.store.trials(), open_)
        for number in sorted(open_.keys() - untold.keys()):
            self.requests.submit(number, open_[number])
        while True:
            before = untold.measured
            if not self._answer(open_, untold):
                return
            told = self._tell(open_, untold)
            idle = idle + told if untold.measured == before else 0
            if (idle >= IDLE and not self._ends) or self._time_is_up():
                return
            asked = self._ask(open_, untold)
            if not asked and not open_:
                return
            self._start(asked, open_, untold)

    def _tell(self, open_: dict[int, Placement], untold: UntoldTrials) -> int:
        """Tell the placer the answers that it does not know, which are open no longer; return their number."""
        told = [untold.pop(number) for number in sorted(untold)]
        if told:
            with self._blaming(), self.measurer.seconds.counting("placer"):
                self.placer.tell(told)
        for trial in told:
            del open_[trial.number]
        return len(told)

    def _ask(self, open_: Mapping[int, Placement], untold: UntoldTrials) -> list[Placement]:
        """Ask the placer for as many placements as there is room and budget for."""
        wanted = int(min(self._room(open_), self.budget.left(untold.measured) - len(open_)))
        if wanted <= 0:
            return []
        with self._blaming(), self.measurer.seconds.counting("placer"):
            asked = list(self.placer.ask(wanted))
            for found in asked:
                self._check(found)
        return asked

    def _check(self, found: object) -> None:
        """Check that what a placer asks for is a placement of the problem's groups on its devices."""
        problem = self.measurer.session.problem
        if not isinstance(found, Placement):
            raise TypeError(f"ask() returned {type(found).__name__} in place of a Placement")
        if found.devices != problem.device_names:
            raise ValueError(f"ask() returned a placement on {found.devices}, the problem has {problem.device_names}")
        problem.lower(found)

    def _start(self, asked: Sequence[Placement], open_: dict[int, Placement], untold: UntoldTrials) -> None:
        if asked:
            new = dict(enumerate(asked, untold.last + 1))
            untold.last += len(new)
            open_.update(new)
            with self._blaming():
                self.measurer.store.save_checkpoint(self.placer.state(), open_)
            for number, placement in new.items():
                self.requests.submit(number, placement)

    def _room(self, open_: Mapping[int, Placement]) -> int:
        """Return how many placements to ask for: none while a placer that learns from whole batches waits for one."""
        most = max(self.budget.batch, self.requests.capacity)
        if self._is_asynchronous:
            return most + most // AHEAD - len(open_) if len(open_) <= most else 0
        return 0 if open_ else most

    @property
    def _ends(self) -> bool:
        with self._blaming():
            return self.placer.ends

    @property
    def _is_asynchronous(self) -> bool:
        with self._blaming():
            return self.placer.asynchronous and self.requests.capacity > 1

    def _resume(self) -> dict[int, Placement]:
        """Restore the placer to its last `ask`; return what it was not told of, by the numbers of the trials."""
        checkpoint = self.measurer.store.checkpoint()
        if checkpoint is None:
            return {}
        with self._blaming():
            try:
                self.placer.restore(checkpoint.state)
            except (LookupError, TypeError, ValueError, AttributeError, RuntimeError) as error:
                raise StoreError(
                    f"the placer '{self.origin}' cannot go on from the state in the run folder ({_described(error)}): "
                    "it is damaged, or of another version; start anew in another folder with -o"
                ) from error
        return dict(checkpoint.pending)

    def _answer(self, open_: Mapping[int, Placement], untold: UntoldTrials) -> bool:
        """Measure what is open: all of it, or one for a placer that learns from each; return whether that was done."""
        while open_.keys() - untold.keys():
            if self.budget.left(untold.measured) <= 0 or self._time_is_up():
                return False
            answer = self.requests.next_answer()
            trial = self._trial(answer, open_[answer.number])
            untold.add(trial)
            self.measurer.store.add_trial(answer.key, trial)
            self._tell_listener(trial, untold)
            if self.suffices(trial):
                return False
            if self._is_asynchronous:
                break
        return True

    def _trial(self, answer: Answer, placement: Placement) -> Trial:
        stored = answer.stored
        return Trial(answer.number, placement, stored.measurement, stored.ratio, self.origin, answer.cached)

    def _tell_listener(self, last: Trial, untold: UntoldTrials) -> None:
        text = f"{last.ratio:.3f}" if last.measurement.ok else str(last.measurement.error)
        self.listener(Progress("search", untold.measured, self.budget.measurements or 0, text, untold.best_ratio))

    def _blaming(self) -> AbstractContextManager[None]:
        return blaming(type(self.placer), f"the placer '{self.origin}'")

    def _time_is_up(self) -> bool:
        return self.measurer.deadline.left_s <= 0


def _described(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:200]
