"""The training itself: batches of problems, one update after the other, saved as it goes."""

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
from ovplace.train.plan import Plan

SAVE_EVERY_S = 30.0

RECENT = 50
"""Updates that the reported loss is the mean of."""


@dataclass(frozen=True)
class _Reached:
    """What a training has come to, and what is saved of it.

    Attributes:
        plan: all that it depends on, as text.
        number: updates done.
        recent: `over_best` of the last ones.
        weights: what the trainer dumped.
    """

    plan: str
    number: int
    recent: tuple[float, ...]
    weights: str


@dataclass(frozen=True, eq=False)
class Lessons:
    """What is learned from.

    Attributes:
        mixed: problems whose best placement known needs several devices.
        plain: the others.
    """

    mixed: Sequence[Problem]
    plain: Sequence[Problem]

    def drawn(self, count: int, share: float, rng: np.random.Generator) -> list[Problem]:
        """Return distinct problems, a share of them mixed, as far as there are as many."""
        mixed = min(round(share * count), len(self.mixed)) if self.plain else count
        return [*_some(self.mixed, mixed, rng), *_some(self.plain, count - mixed, rng)]


def learn(trainer: Trainer, lessons: Lessons, plan: Plan, state: Path, listener: Listener) -> None:
    """Train until all updates are done; a stopped training goes on from the file `state`.

    Raises:
        InterruptedRunError: Ctrl-C; what was learned is in `state`.
        ConfigError: `state` is of another training.
        StoreError: it cannot be written.
    """
    reached, total = _resumed(trainer, plan, state), plan.config.updates
    _save(reached, state)  # a path that cannot be written is better known before the work
    saved = time.monotonic()
    try:
        while reached.number < total:
            reached = _updated(trainer, lessons, plan, reached)
            text = f"{100 * fmean(reached.recent):.1f} % above the best known (recent mean)"
            listener(Progress("train", reached.number, total, text))
            if time.monotonic() - saved > SAVE_EVERY_S:
                _save(reached, state)
                saved = time.monotonic()
    except KeyboardInterrupt as error:
        _save(reached, state)
        raise InterruptedRunError(f"stopped; the same command goes on from '{state}'") from error
    _save(reached, state)


def _updated(trainer: Trainer, lessons: Lessons, plan: Plan, reached: _Reached) -> _Reached:
    """Return what is reached after one more update, on a batch that its number alone decides."""
    draws = generator(plan.config.seed, "train", "batch", reached.number)
    problems = lessons.drawn(plan.config.batch, plan.config.mixed, draws)
    log_ratio = trainer.update(problems, reached.number)
    # Dumped each time, so that Ctrl-C in the middle of an update finds whole weights: 3 ms of about 100.
    recent = (*reached.recent, float(np.expm1(log_ratio)))[-RECENT:]
    return _Reached(reached.plan, reached.number + 1, recent, trainer.dump())


def _some(problems: Sequence[Problem], count: int, rng: np.random.Generator) -> list[Problem]:
    chosen = rng.choice(len(problems), size=min(count, len(problems)), replace=False)
    return [problems[int(i)] for i in chosen]


def _resumed(trainer: Trainer, plan: Plan, state: Path) -> _Reached:
    try:
        data = json.loads(state.read_text(encoding="utf-8"))
        reached = _Reached(data["plan"], int(data["number"]), tuple(data["recent"]), data["weights"])
        if reached.plan == plan.text:
            trainer.restore(reached.weights)
            return reached
    except FileNotFoundError:
        return _Reached(plan.text, 0, (), trainer.dump())
    except OSError as error:
        raise StoreError(f"cannot read '{state}': {error.strerror}; delete it, or choose another with -o") from error
    except (ValueError, KeyError, TypeError) as error:
        raise ConfigError(f"'{state}' is damaged; delete it to train from the beginning") from error
    raise ConfigError(f"'{state}' is of another training; delete it, or choose another output with -o")


def _save(reached: _Reached, state: Path) -> None:
    """Write the state so that a crash leaves either the old one or the new one."""
    try:
        state.parent.mkdir(parents=True, exist_ok=True)
        atomic_write(state, json.dumps(asdict(reached)))
    except OSError as error:
        raise StoreError(f"cannot write '{state}': {error.strerror}; choose another output with -o") from error
