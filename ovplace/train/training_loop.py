"""Training loop: updates on batches of problems, with a state file from which an interrupted training continues."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean

import numpy as np

from ovplace.core.problem import Problem
from ovplace.errors import StoreError
from ovplace.plugins.protocols import Trainer
from ovplace.seeds import generator
from ovplace.session.events import Listener, Progress
from ovplace.train.training_plan import TrainingPlan
from ovplace.train.training_state import (
    TrainingState,
    damaged,
    other_training,
    read_training_state,
    write_training_state,
)

SAVE_EVERY_S = 30.0
"""Seconds between two writes of the state file."""

RECENT = 50
"""Number of last updates in the reported mean."""


@dataclass(frozen=True, eq=False)
class TrainingSet:
    """Problems to train on.

    Attributes:
        mixed: problems whose best known placement uses several devices.
        plain: problems whose best known placement is a single device.
    """

    mixed: Sequence[Problem]
    plain: Sequence[Problem]

    def draw(self, count: int, mixed_fraction: float, rng: np.random.Generator) -> list[Problem]:
        """Draw a batch of distinct problems.

        Args:
            count: size of the batch; all problems of a kind if there are fewer.
            mixed_fraction: fraction of mixed problems.
            rng: random generator.
        """
        mixed = min(round(mixed_fraction * count), len(self.mixed)) if self.plain else count
        return [*_some(self.mixed, mixed, rng), *_some(self.plain, count - mixed, rng)]


def run_training_loop(
    trainer: Trainer, problems: TrainingSet, plan: TrainingPlan, state_file: Path, listener: Listener
) -> None:
    """Make all updates of a plan; an interrupted training continues from its state file.

    Args:
        trainer: the policy to train.
        problems: the problems to draw batches from.
        plan: the training.
        state_file: path of the state file.
        listener: receives the progress.

    Raises:
        KeyboardInterrupt: Ctrl-C was pressed; the state was saved.
        ConfigError: the state file belongs to another training, or a machine has changed since, or it is damaged.
        StoreError: the state file cannot be read or written.
    """
    state, total = _resumed(trainer, plan, state_file), plan.config.updates
    write_training_state(state, state_file)  # reports a path that cannot be written before the work
    saved = time.monotonic()
    try:
        while state.number < total:
            state = _updated(trainer, problems, plan, state)
            text = f"{100 * fmean(state.recent):.1f} % above the best known (recent mean)"
            listener(Progress("train", state.number, total, text))
            if time.monotonic() - saved > SAVE_EVERY_S:
                write_training_state(state, state_file)
                saved = time.monotonic()
    except KeyboardInterrupt:
        write_training_state(state, state_file)
        raise
    write_training_state(state, state_file)


def _updated(trainer: Trainer, problems: TrainingSet, plan: TrainingPlan, state: TrainingState) -> TrainingState:
    """Return the state after one more update; its batch depends only on the seed and the number of the update."""
    draws = generator(plan.config.seed, "train", "batch", state.number)
    batch = problems.draw(plan.config.batch, plan.config.mixed, draws)
    log_ratio = trainer.update(batch, state.number)
    # Dumped after each update, so that Ctrl-C during an update finds consistent weights: 3 ms of about 100.
    recent = (*state.recent, float(np.expm1(log_ratio)))[-RECENT:]
    return replace(state, number=state.number + 1, recent=recent, weights=trainer.dump())


def _some(problems: Sequence[Problem], count: int, rng: np.random.Generator) -> list[Problem]:
    chosen = rng.choice(len(problems), size=min(count, len(problems)), replace=False)
    return [problems[int(i)] for i in chosen]


def _resumed(trainer: Trainer, plan: TrainingPlan, state_file: Path) -> TrainingState:
    """Return the state in a file and restore the trainer, or the initial state if there is no file."""
    state = read_training_state(state_file)
    if state is None:
        return TrainingState(plan.text, 0, (), trainer.dump(), plan.machine_digests)
    if state.plan != plan.text or state.machines not in ((), plan.machine_digests):
        raise other_training(state_file)
    try:
        trainer.restore(state.weights)
    except (StoreError, ValueError, KeyError, TypeError, AttributeError, RuntimeError) as error:
        raise damaged(state_file) from error
    return replace(state, machines=plan.machine_digests)
