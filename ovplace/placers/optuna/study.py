"""An Optuna study over placements: one categorical parameter for each group, sampled by TPE."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ovplace.errors import OvplaceError
from ovplace.graphs.op_graph import BoolArray, IntArray


class TpeStudy:
    """A study in memory, with the placements being measured as running trials.

    TPE takes running trials for slow ones (`constant_liar`), so that the suggestions of a batch differ. The sampler is
    seeded anew for each suggestion; the trials are thus all of the study's state.

    Source: Bergstra et al., "Algorithms for hyper-parameter optimization", NeurIPS 2011; Akiba et al., "Optuna", KDD
    2019; Optuna's `TPESampler`.
    """

    def __init__(self, allowed: BoolArray, multivariate: bool, **sampler_options: Any) -> None:
        """Create an empty study.

        Args:
            allowed: which device can run which group, `[G, D]`; groups with one device are no parameters.
            multivariate: whether all groups are modelled jointly.
            **sampler_options: further options of Optuna's `TPESampler`.

        Raises:
            OvplaceError: Optuna is not installed.
        """
        self._optuna = _import_optuna()
        self._options = {"multivariate": multivariate, "constant_liar": True, **sampler_options}
        self._default: IntArray = allowed.argmax(axis=1)
        self._space = {
            str(group): self._optuna.distributions.CategoricalDistribution(np.flatnonzero(row).tolist())
            for group, row in sorted(enumerate(allowed), key=lambda pair: str(pair[0]))  # as Optuna sorts them
            if row.sum() > 1
        }
        with _quiet(self._optuna):
            self._study = self._optuna.create_study()
        self._started: list[int] = []  # Optuna's numbers of the choices

    @property
    def trials(self) -> list[Any]:
        """Optuna's trials, in order."""
        return list(self._study.trials)

    def suggest(self, seed: int) -> IntArray:
        """Return the choice that TPE would try next, `[G]`, without trying it."""
        with _quiet(self._optuna):
            self._study.sampler = self._sampler(seed)
            trial = self._study.ask(self._space)
            self._study.tell(trial, state=self._optuna.trial.TrialState.FAIL)
        choice = self._default.copy()
        for group, device in trial.params.items():
            choice[int(group)] = device
        return choice

    def start(self, choice: IntArray) -> None:
        """Add a choice `[G]` as a running trial."""
        params = {group: int(choice[int(group)]) for group in self._space}
        state = self._optuna.trial.TrialState.RUNNING
        self._study.add_trial(self._optuna.trial.create_trial(state=state, params=params, distributions=self._space))
        self._started.append(len(self._study.get_trials(deepcopy=False)) - 1)

    def finish(self, number: int, ratio: float) -> None:
        """Complete a running trial.

        Args:
            number: how many choices were started before its own.
            ratio: its latency ratio, infinite for a failure.
        """
        with _quiet(self._optuna):
            self._study.tell(self._started[number], ratio)

    def _sampler(self, seed: int) -> Any:
        sampler = self._optuna.samplers.TPESampler(seed=seed, **self._options)
        if self._options["multivariate"]:
            # A new sampler would compare the parameters of all trials: 100 ms at 64 groups and 500 trials.
            sampler.infer_relative_search_space = lambda study, trial: self._space
        return sampler


def _import_optuna() -> Any:
    try:
        import optuna
    except ImportError as error:
        raise OvplaceError("Optuna is not installed; pip install 'ovplace[optuna]'") from error
    return optuna


@contextmanager
def _quiet(optuna: Any) -> Iterator[None]:
    """Suppress Optuna's log of new studies and its warnings on experimental options (before Optuna 5)."""
    verbosity = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            yield
    finally:
        optuna.logging.set_verbosity(verbosity)
