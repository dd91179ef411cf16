"""Training loop: updates on batches of problems, with a state file from which an interrupted training continues."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean

import numpy as np

from ovplace.core.problem import Problem
from ovplace.errors import ConfigError, InterruptedRunError, StoreError
from ovplace.plugins.protocols import Trainer
from ovplace.seeds import generator
from ovplace.session.events import Listener, Progress
from ovplace.store.atomic import atomic_write
from ovplace.train.training_plan import TrainingPlan

SAVE_EVERY_S = 30.0
"""Seconds between two writes of the state file."""

RECENT = 50
"""Number of last updates in the reported mean."""


@dataclass(frozen=True)
class _TrainingState:
    """Contents of the state file.

    Attributes:
        plan: text of the plan.
        number: number of updates made.
        recent: mean excess latency of the last updates, as a fraction of the best known.
        weights: state of the trainer, as text.
    """

    plan: str
    number: int
    recent: tuple[float, ...]
    weights: str


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
        InterruptedRunError: Ctrl-C was pressed; the state was saved.
        ConfigError: the state file belongs to another training.
        StoreError: the state file cannot be read or written.
    """
    state, total = _resumed(trainer, plan, state_file), plan.config.updates
    _save(state, state_file)  # reports a path that cannot be written before the work
    saved = time.monotonic()
    try:
        while state.number < total:
            state = _updated(trainer, problems, plan, state)
            text = f"{100 * fmean(state.recent):.1f} % above the best known (recent mean)"
            listener(Progress("train", state.number, total, text))
            if time.monotonic() - saved > SAVE_EVERY_S:
                _save(state, state_file)
                saved = time.monotonic()
    except KeyboardInterrupt as error:
        _save(state, state_file)
        raise InterruptedRunError(f"stopped; the same command goes on from '{state_file}'") from error
    _save(state, state_file)


def _updated(trainer: Trainer, problems: TrainingSet, plan: TrainingPlan, state: _TrainingState) -> _TrainingState:
    """Return the state after one more update; its batch depends only on the seed and the number of the update."""
    draws = generator(plan.config.seed, "train", "batch", state.number)
    batch = problems.draw(plan.config.batch, plan.config.mixed, draws)
    log_ratio = trainer.update(batch, state.number)
    # Dumped after each update, so that Ctrl-C during an update finds consistent weights: 3 ms of about 100.
    recent = (*state.recent, float(np.expm1(log_ratio)))[-RECENT:]
    return _TrainingState(state.plan, state.number + 1, recent, trainer.dump())


def _some(problems: Sequence[Problem], count: int, rng: np.random.Generator) -> list[Problem]:
    chosen = rng.choice(len(problems), size=min(count, len(problems)), replace=False)
    return [problems[int(i)] for i in chosen]


def _resumed(trainer: Trainer, plan: TrainingPlan, state_file: Path) -> _TrainingState:
    """Return the state in a file and restore the trainer, or the initial state if there is no file."""
    try:
        data = json.loads(state_file.read_text(encoding="utf-8"))
        state = _TrainingState(data["plan"], int(data["number"]), tuple(data["recent"]), data["weights"])
        if state.plan == plan.text:
            trainer.restore(state.weights)
            return state
    except FileNotFoundError:
        return _TrainingState(plan.text, 0, (), trainer.dump())
    except OSError as error:
        raise StoreError(
            f"cannot read '{state_file}': {error.strerror}; delete it, or choose another with -o"
        ) from error
    except (ValueError, KeyError, TypeError) as error:
        raise ConfigError(f"'{state_file}' is damaged; delete it to train from the beginning") from error
    raise ConfigError(f"'{state_file}' is of another training; delete it, or choose another output with -o")


def _save(state: _TrainingState, state_file: Path) -> None:
    """Write the state file atomically."""
    try:
        state_file.parent.mkdir(parents=True, exist_ok=True)
        atomic_write(state_file, json.dumps(asdict(state)))
    except OSError as error:
        raise StoreError(f"cannot write '{state_file}': {error.strerror}; choose another output with -o") from error
