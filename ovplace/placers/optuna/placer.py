"""A placer that asks for the suggestions of Optuna's TPE sampler (extra `optuna`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf, isfinite

import numpy as np

from ovplace.core.measurement import Trial
from ovplace.core.placement import Placement
from ovplace.core.problem import Problem
from ovplace.graphs.op_graph import IntArray
from ovplace.placers._base.choices import random_choice
from ovplace.placers._base.log import Log
from ovplace.placers._base.unseen import UnseenPlacements
from ovplace.placers.optuna.study import TpeStudy
from ovplace.plugins import protocols
from ovplace.plugins.protocols import State
from ovplace.seeds import generator

SUMMARY = "Optuna's TPE (Bergstra et al. 2011), one categorical parameter for each group (extra 'optuna')"

MAX_DISTANCE = 20
"""Most groups that are drawn again when a suggestion was measured before."""


@dataclass(frozen=True)
class Config:
    """Settings of the search, named like those of Optuna's `TPESampler`.

    Attributes:
        uniform: measure the placements on each single device first.
        n_startup_trials: number of answers before the first suggestion that is not random, at least 0.
        n_ei_candidates: number of candidates of which the most promising one is suggested, at least 1.
        multivariate: model all groups jointly; otherwise each group independently, which takes longer.
    """

    uniform: bool = True
    n_startup_trials: int = 10
    n_ei_candidates: int = 24
    multivariate: bool = True

    def __post_init__(self) -> None:
        """Check the ranges."""
        if self.n_startup_trials < 0 or self.n_ei_candidates < 1:
            raise ValueError(
                "n_startup_trials must be at least 0 and n_ei_candidates at least 1, got "
                f"{self.n_startup_trials} and {self.n_ei_candidates}"
            )


class Placer(protocols.Placer):
    """Asks for Optuna's suggestions, or for a new placement near one that was measured before.

    It is asynchronous, as Optuna's studies are: TPE takes placements that are being measured for slow ones. Answers
    may come in any order, which changes no suggestion.

    Attributes:
        study: what was asked and answered.
    """

    def __init__(self, problem: Problem, config: Config) -> None:
        """Start with an empty study.

        Raises:
            OvplaceError: Optuna is not installed.
        """
        self._problem, self._config = problem, config
        self._unseen = UnseenPlacements(problem)
        self.study = TpeStudy(
            problem.allowed,
            config.multivariate,
            n_startup_trials=config.n_startup_trials,
            n_ei_candidates=config.n_ei_candidates,
        )
        self._choices, self._ratios = Log("choices"), Log("ratios")
        self._open: dict[str, int] = {}  # numbers of placements that are not answered, by hash, in order
        self._asked = 0

    @property
    def asynchronous(self) -> bool:
        """True: trials of a study may run at the same time."""
        return True

    def ask(self, n: int) -> Sequence[Placement]:
        """Return up to `n` placements never asked for before; none when all placements were."""
        batch: list[Placement] = []
        while len(batch) < n and (placement := self._unseen.take(self._candidates())) is not None:
            self._start(self._problem.lower(placement))
            batch.append(placement)
        return batch

    def tell(self, trials: Sequence[Trial]) -> None:
        """Pass the latency ratios on to the study, infinite for failures."""
        for trial in trials:
            self._finish(self._open[trial.placement.hash], trial.ratio)

    def state(self) -> State:
        """Return the device of each group in all placements asked for, and the latency ratios, None for failures.

        An answer that came before that to an older placement stands with the number of its own.
        """
        return {**self._choices.state(), **self._ratios.state()}

    def restore(self, state: State) -> None:
        """Go on from `state`; the placer must be a new one."""
        choices = [np.array(choice, dtype=np.int64) for choice in Log.rows("choices", state)]
        for choice in choices:
            self._start(choice)
        for row in Log.rows("ratios", state):
            number, ratio = row if isinstance(row, list) else (next(iter(self._open.values())), row)
            self._finish(number, inf if ratio is None else ratio)
        self._unseen = UnseenPlacements(self._problem, (self._problem.lift(choice).hash for choice in choices))

    def _candidates(self) -> Iterator[IntArray]:
        """Yield a single device first, else a suggestion, then choices further and further away from it."""
        number = self._asked
        if self._config.uniform and number < len(self._problem.devices):
            yield self._problem.uniform(number)
        rng = generator(self._problem.seed, "placer", "optuna", number)
        suggested = self.study.suggest(int(rng.integers(2**31)))
        yield suggested
        for n_groups in range(1, 1 + MAX_DISTANCE):
            moved, moving = suggested.copy(), rng.integers(len(suggested), size=n_groups)
            moved[moving] = random_choice(self._problem.allowed[moving], rng)
            yield moved

    def _start(self, choice: IntArray) -> None:
        self.study.start(choice)
        self._choices.add(choice.tolist())
        self._open[self._problem.lift(choice).hash] = self._asked
        self._asked += 1

    def _finish(self, number: int, ratio: float) -> None:
        self.study.finish(number, ratio)
        found, oldest = (ratio if isfinite(ratio) else None), next(iter(self._open.values()))
        self._ratios.add(found if number == oldest else [number, found])
        self._open = {digest: other for digest, other in self._open.items() if other != number}
