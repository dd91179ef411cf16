"""What runs survive: each call that changes a file fails.

A run of three trials with computed latencies is repeated; each time one more of the calls that create, write, cut, sync
or rename its files fails: once, or with all later ones, as on a full disk. `tried`: every call that is not the
database's, and of those one in `every`; of all these one in `one_in`. `ended`: the run came to its end nevertheless.
`one line`: it stopped with an error line. `crashed`: it stopped without one, or by a signal. *right*: it did not crash,
the line was clear, and the same command without the fault came to the trials and the placement of a run that nothing
strikes.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass

from benchmarks.failing_runs import columns, short_run
from benchmarks.report import Row
from benchmarks.script import UnavailableError
from ovplace.testing.faults.failing_calls import available
from ovplace.testing.faults.failing_runs import ERRORS, Failed, Whole, chosen, failing
from ovplace.testing.faults.striking import Setting


@dataclass(frozen=True)
class Options:
    """Options.

    Attributes:
        every: distance of the calls of the database that fail.
        one_in: of these and of all other calls, one in so many fails.
        alternate: give each call one of the ways to fail in turn, instead of all.
    """

    every: int = 1
    one_in: int = 1
    alternate: bool = True


SHORT = Options(every=1000, one_in=10)


def rows(options: Options) -> Iterator[Row]:
    """Yield a row for each way to fail.

    Raises:
        UnavailableError: there is no gcc.
    """
    if not available():
        raise UnavailableError("gcc is needed")
    ways = [(name, on) for on in (False, True) for name in ERRORS]
    with short_run() as (setting, like):
        numbers = chosen(like.calls, options.every)[:: options.one_in]
        for place, (error, on) in enumerate(ways):
            mine = numbers[place :: len(ways)] if options.alternate else numbers
            yield _row(setting, like, mine, error, on=on)


def _row(setting: Setting, like: Whole, numbers: list[int], error: str, *, on: bool) -> Row:
    found = [_one(setting, like, number, error, on=on) for number in numbers]
    return {
        "fails": f"{error}, {'with all later calls' if on else 'once'}",
        "calls of a run": len(like.calls),
        **columns(found),
    }


def _one(setting: Setting, like: Whole, number: int, error: str, *, on: bool) -> Failed:
    at = setting.at(f"{number}-{error}-{on}")
    try:
        return failing(at, like, number, ERRORS[error], on=on)
    finally:
        shutil.rmtree(at.folder)
