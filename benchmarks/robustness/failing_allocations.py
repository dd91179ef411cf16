"""What runs survive: an allocation of memory by Python fails.

A run of three trials with computed latencies is repeated; each time one more of the allocations in a part of it fails,
alone or with the `burst` that follow. A part makes up to millions of them: those that fail are spread evenly over the
logarithm of their number, all where there are few. `ended`: the run came to its end nevertheless. `one line`: it
stopped with an error line. `crashed`: it stopped without one, or by a signal. *right*: it did not crash, the line was
clear, at most one trial was lost, and the same command without the fault came to the trials and the placement of a run
that nothing strikes. Native libraries allocate by themselves, which does not fail here.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass, replace

from benchmarks.failing_runs import columns, short_run
from benchmarks.report import Row
from benchmarks.script import UnavailableError
from ovplace.testing.faults.failing_allocations import PARTS, WHOLE, FailingAllocation, available
from ovplace.testing.faults.failing_runs import Failed, Whole, continued, run_of, spread
from ovplace.testing.faults.striking import Setting


@dataclass(frozen=True)
class Options:
    """Options.

    Attributes:
        whole: allocations of the whole run that fail, about.
        part: allocations of each part that fail, about.
        burst: of every second failure, so many in a row.
    """

    whole: int = 60
    part: int = 18
    burst: int = 20


SHORT = Options(whole=1, part=0)


def rows(options: Options) -> Iterator[Row]:
    """Yield a row for the whole run and for each part.

    Raises:
        UnavailableError: this Python has no hooks for it.
    """
    if not available():
        raise UnavailableError("Python's module _testcapi is needed")
    with short_run() as (setting, like):
        for number, (function, call) in enumerate({WHOLE: 1, **PARTS}.items()):
            count = options.part if number else options.whole
            if count:
                yield _row(setting.at(f"part-{number}"), like, FailingAllocation(function, call), count, options.burst)


def _row(setting: Setting, like: Whole, fault: FailingAllocation, count: int, burst: int) -> Row:
    total = _total(setting.at("counted"), fault)
    numbers = spread(total, count)
    faults = [replace(fault, number=number, count=burst if place % 2 else 1) for place, number in enumerate(numbers)]
    found = [_one(setting, like, one) for one in faults]
    return {
        "part": fault.function.split(":")[1],
        "allocations": total,
        **columns(found),
    }


def _total(setting: Setting, fault: FailingAllocation) -> int:
    """Return how many allocations the call makes."""
    log = setting.folder / "allocations"
    code, said = run_of(setting, replace(fault, log=log))
    if code or not log.exists():
        raise RuntimeError(f"{fault.function} was not called {fault.call} times: {said}")
    return int(log.read_text(encoding="ascii"))


def _one(setting: Setting, like: Whole, fault: FailingAllocation) -> Failed:
    at = setting.at(str(fault.number))
    try:
        return continued(at, like, fault, f"number {fault.number}")
    finally:
        shutil.rmtree(at.folder)
