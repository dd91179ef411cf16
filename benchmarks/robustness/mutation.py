"""What tests see: a random part of all small faults in the sources, one at a time.

Of the mutations of a room (comparisons, arithmetic, truth values, conditions, constants, results, removed statements)
a sample is drawn. For each, the tests of the room that run the changed lines are run, the quickest first and `tests_s`
seconds of them at most, in a process where the module is loaded with the fault. It is `killed` when a test fails or
does not end in time; mutations that change nothing that could be seen are counted as survivors. `score`: killed of
tried, with the 95 % interval of Wilson. Docstrings, annotations, decorators, the words of errors and what only Windows
runs are not changed.
"""

from __future__ import annotations

import importlib.util
import os
import random
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from math import sqrt
from pathlib import Path

from benchmarks.mutants.operators import Mutation, mutations
from benchmarks.mutants.rooms import ROOMS, Reach, Room, modules_of, reach_of
from benchmarks.mutants.runner import Fault, passes, preload
from benchmarks.report import Row
from benchmarks.script import UnavailableError

Z = 1.96
"""Standard deviations on either side of a 95 % interval."""


@dataclass(frozen=True)
class Options:
    """Options.

    Attributes:
        per_room: mutations tried of each room.
        seed: of the draw.
        room: only this one, by its name; empty for all.
        module: only modules whose dotted name contains this.
        tests_s: seconds that the tests tried on one mutation take without it, at most.
        kept: folder where the lines that each test runs are kept; delete it when sources or tests have changed.
    """

    per_room: int = 100
    seed: int = 0
    room: str = ""
    module: str = ""
    tests_s: float = 20.0
    kept: str = "runs/mutation"


SHORT = Options(per_room=2, room="affinities", kept="runs/mutation-short")

Drawn = tuple[Path, str, str, Mutation]


def rows(options: Options) -> Iterator[Row]:
    """Yield a row for each room, and one for all; survivors are told on standard error.

    Raises:
        UnavailableError: coverage is not installed, or processes cannot fork.
    """
    _check_available()
    preload()
    total = [0, 0, 0]
    for room in ROOMS:
        if options.room in ("", room.name):
            counts = _counts(room, options)
            total = [a + b for a, b in zip(total, counts, strict=True)]
            yield _row(room.name, *counts)
    if not options.room:
        yield _row("all", *total)


def _counts(room: Room, options: Options) -> tuple[int, int, int]:
    reach = reach_of(room, Path(options.kept) / f"{room.name.replace(' ', '-')}.json", limit_s=1800)
    every = [
        (file, module, source, one)
        for file, module in modules_of(room)
        if options.module in module
        for source in [file.read_text(encoding="utf-8")]
        for one in mutations(source)
    ]
    sample = random.Random(options.seed).sample(every, min(options.per_room, len(every)))
    return len(every), len(sample), sum(_is_killed(drawn, reach, options.tests_s) for drawn in sample)


def _is_killed(drawn: Drawn, reach: Reach, tests_s: float) -> bool:
    file, module, source, mutation = drawn
    tests = reach.tests_of(file, mutation.line, mutation.end, tests_s)
    limit_s = 20 + 5 * sum(reach.seconds[test] for test in tests)
    fault = Fault(module, file, mutation.applied(source))
    killed = bool(tests) and not passes(tests, limit_s, fault)
    if not killed:
        print(f"survived: {module}:{mutation} ({len(tests)} tests)", file=sys.stderr, flush=True)
    return killed


def _row(name: str, every: int, tried: int, killed: int) -> Row:
    low, high = interval(killed, tried)
    return {
        "room": name,
        "mutations": every,
        "tried": tried,
        "killed": killed,
        "score": f"{killed / max(tried, 1):.1%}",
        "95 % interval": f"{low:.1%} to {high:.1%}",
    }


def interval(successes: int, n: int) -> tuple[float, float]:
    """Return Wilson's interval of a proportion, at 95 %.

    Args:
        successes: how many of the trials.
        n: trials.
    """
    if not n:
        return 0.0, 1.0
    share, spread = successes / n, Z * Z / n
    middle = share + spread / 2
    half = Z * sqrt(share * (1 - share) / n + spread / (4 * n))
    return (middle - half) / (1 + spread), (middle + half) / (1 + spread)


def _check_available() -> None:
    if not hasattr(os, "fork"):
        raise UnavailableError("processes that fork are needed")
    if importlib.util.find_spec("coverage") is None:
        raise UnavailableError("coverage is needed: pip install coverage")
