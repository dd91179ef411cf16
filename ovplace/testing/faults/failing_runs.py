"""Runs of which one call fails, for each call in turn: SQLite's own method of testing.

Source: "How SQLite Is Tested", section 3, https://www.sqlite.org/testing.html.
"""

from __future__ import annotations

import dataclasses
import errno
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ovplace.store.run_folder import RunFolder
from ovplace.testing.faults.failing_calls import FailingCall
from ovplace.testing.faults.fault import NOTHING, Fault
from ovplace.testing.faults.left_behind import Marked
from ovplace.testing.faults.process import StruckRun
from ovplace.testing.faults.striking import Setting, begun_in, trials_of

ERRORS = {"ENOSPC": errno.ENOSPC, "EIO": errno.EIO}


@dataclass(frozen=True)
class Failed:
    """What became of a run of which something failed.

    Attributes:
        what: what failed, such as the name of the call and of the file.
        code: exit code of the run, negative for a signal; 0 where it ended all the same.
        said: the last line that the run said.
        wrong: what was not as it has to be; empty for nothing.
    """

    what: str
    code: int = 0
    said: str = ""
    wrong: str = ""

    @property
    def crashed(self) -> bool:
        """Whether the run neither ended all the same nor with an error line."""
        return self.code < 0 or (self.code > 0 and not self.said.startswith("Error: "))


@dataclass(frozen=True)
class Whole:
    """A run of which no call fails.

    Attributes:
        calls: the calls that changed its files, in order.
        trials: the hashes of its trials.
        placement: its answer.
    """

    calls: tuple[str, ...]
    trials: tuple[str, ...]
    placement: bytes


def whole(setting: Setting) -> Whole:
    """Run, and return what a run of which no call fails calls and finds.

    Args:
        setting: the run, in a folder of its own.
    """
    log = setting.folder / "calls"
    code, said = run_of(setting, FailingCall(setting.run, log=log))
    assert code == 0, said
    calls = (line.replace(str(setting.run), "run") for line in log.read_text(encoding="utf-8").splitlines())
    return Whole(tuple(calls), tuple(trials_of(setting)), RunFolder(setting.run).placement.read_bytes())


def failing(setting: Setting, like: Whole, number: int, error: int, *, on: bool) -> Failed:
    """Let one call of a run fail, and continue the run without.

    Args:
        setting: the run, in a folder of its own.
        like: what has to come out.
        number: of the call, from 1.
        error: its `errno`.
        on: whether all later ones fail, too.
    """
    return continued(setting, like, FailingCall(setting.run, number, error, on), like.calls[number - 1])


def continued(setting: Setting, like: Whole, fault: Fault, what: str) -> Failed:
    """Let a run suffer a fault, and continue it without.

    Args:
        setting: the run, in a folder of its own.
        like: what has to come out.
        fault: what it suffers.
        what: what fails, in words.
    """
    failed = Failed(what, *run_of(setting, fault))
    problems = list(_of_the_end(failed))
    if (lost := len({*begun_in(setting)} - {*trials_of(setting)})) > 1:
        problems.append(f"{lost} trials were measured and not stored")
    again, last = run_of(setting)
    if again:
        problems.append(f"it cannot be continued: {last}")
    elif tuple(trials_of(setting)) != like.trials:
        problems.append("other trials")
    elif RunFolder(setting.run).placement.read_bytes() != like.placement:
        problems.append("another placement")
    problems += Marked(setting.folder / "tmp").left_behind(setting.run)
    return dataclasses.replace(failed, wrong="; ".join(problems))


def _of_the_end(failed: Failed) -> Iterator[str]:
    if failed.crashed:
        yield f"exit code {failed.code} after: {failed.said}"
    if any(word in failed.said for word in ("internal error", "Traceback", "basic_ios")):
        yield "no clear line"


def run_of(setting: Setting, fault: Fault = NOTHING) -> tuple[int, str]:
    """Run, and return the exit code and the last line.

    Args:
        setting: the run.
        fault: what it suffers.
    """
    setting.folder.mkdir(parents=True, exist_ok=True)
    run = StruckRun(setting.arguments, setting.run, Marked(setting.folder / "tmp"), fault=fault)
    said = b"".join(run.speaking()).decode(errors="replace").splitlines()
    return run.ended(), said[-1] if said else ""


def short(setting: Setting) -> Setting:
    """Return the shortest run: three trials, and no pauses."""
    return dataclasses.replace(setting, budget=3, delay_s=0.0)


def spread(total: int, count: int) -> list[int]:
    """Return numbers from 1 to a total: all of them where there are few, else as many small ones as large ones.

    Args:
        total: the last number.
        count: how many to return at most.
    """
    if total <= count:
        return list(range(1, total + 1))
    return sorted({round(total ** (place / (count + 1))) for place in range(1, count + 1)})


def chosen(calls: Sequence[str], every: int) -> list[int]:
    """Return the numbers of the calls to fail: all that are not the database's, and of those one in `every`.

    Args:
        calls: all calls, in order.
        every: the distance.
    """
    others = [n for n, call in enumerate(calls, 1) if "run.db" not in call]
    return sorted({*others, *range(1, len(calls) + 1, every)})
