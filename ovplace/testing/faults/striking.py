"""Runs that are struck again and again, continued where they ended, and compared with one that never was."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ovplace.store.run_folder import RunFolder
from ovplace.testing import fake_backend
from ovplace.testing.faults.kinds import Kind
from ovplace.testing.faults.left_behind import Marked
from ovplace.testing.faults.process import StruckRun

RATE = 0.4
"""Probability of a fault at each step that the run tells of."""

LATEST_S = 0.08
"""It strikes up to this much later: about as long as a step takes."""

QUICK = (
    "measure.warmup=0", "measure.blocks=1", "measure.repeats=1", "measure.min_time_ms=0", "measure.deadline_s=1.5",
    "comparison.race=4", "comparison.finalists=2", "comparison.rounds=2", "comparison.blocks=3", "comparison.repeats=1",
    "comparison.min_time_ms=0", "comparison.null_control=false",
)  # fmt: skip
"""Settings of a run that takes about two seconds."""


@dataclass(frozen=True)
class Setting:
    """A run to strike: the same one each time.

    Attributes:
        model: the model file.
        folder: where the run, its log and its temporary files are.
        budget: number of trials.
        backend: name of the backend, which knows the settings `armed` and, if it is the fake one, `log`.
        device: as `-d` takes it.
        delay_s: duration of a request to the fake backend, in seconds.
    """

    model: Path
    folder: Path
    budget: int = 12
    backend: str = fake_backend.NAME
    device: str = "CPU_A=CPU,CPU"
    delay_s: float = 0.03

    def at(self, name: str) -> Setting:
        """Return the same in a folder below its own."""
        return dataclasses.replace(self, folder=self.folder / name)

    @property
    def run(self) -> Path:
        """The run folder."""
        return self.folder / "run"

    @property
    def armed(self) -> Path:
        """The file that arms the backend."""
        return self.folder / "armed"

    @property
    def log(self) -> Path:
        """The file that lists what was measured."""
        return self.folder / "log"

    @property
    def arguments(self) -> list[str]:
        """The arguments of the command line."""
        own = [f"backend.armed={self.armed}"]
        if self.backend == fake_backend.NAME:
            own += [f"backend.log={self.log}", f"backend.delay_s={self.delay_s}", "backend.on=armed"]
        search = ("--placer", "random", "--budget", str(self.budget), "--backend", self.backend, "-d", self.device)
        settings = [word for text in (*QUICK, *own) for word in ("--set", text)]
        return ["optimize", str(self.model), "-o", str(self.run), "-v", *search, *settings]


@dataclass(frozen=True)
class Outcome:
    """What became of a struck run.

    Attributes:
        injected: number of faults.
        survived: those after which the run went on, or the same command continued it, to the same trials.
        lost: trials that failed, or were measured and not stored.
        most: the largest number that were lost as the run ended by one fault.
        left: what was left behind.
        seconds: time it took.
    """

    injected: int = 0
    survived: int = 0
    lost: int = 0
    most: int = 0
    left: tuple[str, ...] = ()
    seconds: float = 0.0

    def __add__(self, other: Outcome) -> Outcome:
        """Return the two together."""
        return Outcome(
            self.injected + other.injected,
            self.survived + other.survived,
            self.lost + other.lost,
            max(self.most, other.most),
            self.left + other.left,
            self.seconds + other.seconds,
        )


def undisturbed(setting: Setting) -> list[str]:
    """Return the hashes of the trials of a run that nothing strikes."""
    return _struck(setting, None, np.random.default_rng(), 0)[1]


def strike_run(
    setting: Setting, kind: Kind, expected: Sequence[str], rng: np.random.Generator, most: int = 1000
) -> Outcome:
    """Strike a run until it has ended.

    Args:
        setting: the run, in a folder of its own.
        kind: the fault.
        expected: the hashes of the trials of a run that nothing strikes.
        rng: draws the moments.
        most: faults, at most.

    Returns:
        What became of it. A run that ends with other trials has survived none of its faults.
    """
    start = time.monotonic()
    outcome, trials = _struck(setting, kind, rng, most)
    survived = outcome.injected if trials == list(expected) else 0
    return dataclasses.replace(outcome, survived=survived, seconds=time.monotonic() - start)


def _struck(setting: Setting, kind: Kind | None, rng: np.random.Generator, most: int) -> tuple[Outcome, list[str]]:
    setting.folder.mkdir(parents=True, exist_ok=True)
    marked, outcome, code = Marked(setting.folder / "tmp"), Outcome(), 1
    while code:
        run = StruckRun(setting.arguments, setting.run, marked, terminal=kind is not None and kind.terminal)
        hit, before = 0, len(begun_in(setting))
        for _ in run.speaking():
            if kind and outcome.injected + hit < most and not (kind.ends and hit) and rng.random() < RATE:
                time.sleep(rng.uniform(0, LATEST_S))
                hit += kind.strike(run, setting.armed)
        code = run.ended()
        left = tuple(marked.left_behind(setting.run if code == 0 else setting.folder / "tmp"))
        lost = len({*begun_in(setting)[before:]} - {*trials_of(setting)}) if code else 0
        outcome += Outcome(hit, lost=lost, most=lost, left=left)
        if code and not hit:
            return outcome, []  # it ended, or hung, without a cause
    outcome += Outcome(lost=_failed(setting))
    return outcome, trials_of(setting)


def begun_in(setting: Setting) -> list[str]:
    """Return the hashes of the trials that were begun: those that stand in the log, and are not single devices."""
    lines = setting.log.read_text(encoding="utf-8").splitlines() if setting.log.exists() else []
    return [line.split()[1] for line in lines if line.endswith(" trial")]


def trials_of(setting: Setting) -> list[str]:
    """Return the hashes of the trials that the run folder holds, in order."""
    if not RunFolder(setting.run).database.exists():
        return []
    with closing(RunFolder(setting.run).open_store()) as store:
        return [trial.placement.hash for trial in store.trials()]


def _failed(setting: Setting) -> int:
    with closing(RunFolder(setting.run).open_store()) as store:
        return sum(not trial.measurement.ok for trial in store.trials())
