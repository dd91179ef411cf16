"""Optuna's TPE on one categorical parameter a group (extra `optuna`)."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import inf, isfinite
from typing import Any

import numpy as np

from ovplace.core.measurement import Trial
from ovplace.core.placement import Placement
from ovplace.core.problem import Problem
from ovplace.errors import OvplaceError
from ovplace.graphs.op_graph import IntArray
from ovplace.placers._base.novelty import Novelty
from ovplace.plugins import protocols
from ovplace.plugins.protocols import State
from ovplace.seeds import generator

SUMMARY = "Optuna's TPE (Bergstra et al. 2011), one categorical parameter a group (extra 'optuna')"

LEAPS = 20
"""Placements further and further away from a suggestion that is known."""


@dataclass(frozen=True)
class Config:
    """Settings, named as Optuna's `TPESampler` has them.

    Attributes:
        uniform: measure each device alone first.
        n_startup_trials: answers before the first suggestion that is not random.
        n_ei_candidates: draws of which the most promising is suggested.
        multivariate: model all groups jointly; else each by itself, which takes longer.
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
    """Asks what Optuna suggests, or, where that is known, something near it.

    A study in memory holds the answers, and what is being measured as running trials, which TPE takes to be bad (a
    constant liar). The sampler is seeded anew for each suggestion, so that the answers are all of the state.

    Source: Bergstra et al., "Algorithms for hyper-parameter optimization", NeurIPS 2011; Akiba et al., "Optuna", KDD
    2019; Optuna's `TPESampler`.
    """

    def __init__(self, problem: Problem, config: Config) -> None:
        """Begin an empty study.

        Raises:
            OvplaceError: optuna is not installed.
        """
        self._optuna = _optuna()
        self._problem, self._config = problem, config
        self._novelty = Novelty(problem)
        self._space = {
            str(group): self._optuna.distributions.CategoricalDistribution(np.flatnonzero(row).tolist())
            for group, row in sorted(enumerate(problem.allowed), key=lambda pair: str(pair[0]))  # as Optuna sorts them
            if row.sum() > 1
        }
        with _quiet(self._optuna):
            self._study = self._optuna.create_study()
        self._choices: list[IntArray] = []
        self._running: list[int] = []
        self._ratios: list[float] = []

    def ask(self, n: int) -> Sequence[Placement]:
        """Return up to `n` placements never asked before; none when the space is exhausted."""
        batch: list[Placement] = []
        while len(batch) < n and (placement := self._novelty.first_new(self._proposals())) is not None:
            self._run(self._problem.lower(placement))
            batch.append(placement)
        return batch

    def tell(self, trials: Sequence[Trial]) -> None:
        """Hand the answers to the study; a failure is infinitely slow."""
        for trial in trials:
            self._finish(trial.ratio)

    def state(self) -> State:
        """Return the devices of the groups in all that was asked, and the answers, None for failures."""
        return {
            "choices": [choice.tolist() for choice in self._choices],
            "ratios": [ratio if isfinite(ratio) else None for ratio in self._ratios],
        }

    def restore(self, state: State) -> None:
        """Go on from `state`; the placer must be a new one."""
        data: Any = state
        for choice in data["choices"]:
            self._run(np.array(choice, dtype=np.int64))
        for ratio in data["ratios"]:
            self._finish(inf if ratio is None else ratio)
        self._novelty = Novelty(self._problem, (self._problem.lift(choice).hash for choice in self._choices))

    def _proposals(self) -> Iterator[IntArray]:
        """Yield a device alone, or a suggestion and leaps from it."""
        number = len(self._choices)
        if self._config.uniform and number < len(self._problem.devices):
            yield self._problem.uniform(number)
        rng = generator(self._problem.seed, "placer", "optuna", number)
        suggested = self._suggested(int(rng.integers(2**31)))
        yield suggested
        for groups in range(1, 1 + LEAPS):
            yield self._leapt(suggested, groups, rng)

    def _suggested(self, seed: int) -> IntArray:
        """Return what TPE would try next, `[G]`; what is tried is for `_run` to say."""
        with _quiet(self._optuna):
            self._study.sampler = self._sampler(seed)
            trial = self._study.ask(self._space)
            self._study.tell(trial, state=self._optuna.trial.TrialState.FAIL)
        choice: IntArray = self._problem.allowed.argmax(axis=1)
        for group, device in trial.params.items():
            choice[int(group)] = device
        return choice

    def _sampler(self, seed: int) -> Any:
        sampler = self._optuna.samplers.TPESampler(
            n_startup_trials=self._config.n_startup_trials,
            n_ei_candidates=self._config.n_ei_candidates,
            multivariate=self._config.multivariate,
            constant_liar=True,
            seed=seed,
        )
        if self._config.multivariate:
            # A new sampler would compare the parameters of all trials: 100 ms at 64 groups and 500 trials.
            sampler.infer_relative_search_space = lambda study, trial: self._space
        return sampler

    def _leapt(self, choice: IntArray, groups: int, rng: np.random.Generator) -> IntArray:
        """Return the choice with random devices for so many groups, `[G]`."""
        moving = rng.integers(len(choice), size=groups)
        leapt = choice.copy()
        leapt[moving] = np.where(
            self._problem.allowed[moving], rng.random((groups, len(self._problem.devices))), -1.0
        ).argmax(axis=1)
        return leapt

    def _run(self, choice: IntArray) -> None:
        """Enter a running trial into the study."""
        params = {group: int(choice[int(group)]) for group in self._space}
        state = self._optuna.trial.TrialState.RUNNING
        self._study.add_trial(self._optuna.trial.create_trial(state=state, params=params, distributions=self._space))
        self._choices.append(choice)
        self._running.append(len(self._study.get_trials(deepcopy=False)) - 1)

    def _finish(self, ratio: float) -> None:
        """Enter the answer to the running trial that was asked first."""
        with _quiet(self._optuna):
            self._study.tell(self._running.pop(0), ratio)
        self._ratios.append(ratio)


def _optuna() -> Any:
    try:
        import optuna
    except ImportError as error:
        raise OvplaceError("Optuna is not installed; pip install 'ovplace[optuna]'") from error
    return optuna


@contextmanager
def _quiet(optuna: Any) -> Iterator[None]:
    """Keep Optuna from announcing studies, and from warning that options are experimental (before Optuna 5)."""
    verbosity = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            yield
    finally:
        optuna.logging.set_verbosity(verbosity)
