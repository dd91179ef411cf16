"""What parsers survive: mutations of good files and options.

Each parser reads mutations of its example in `tests/hostile/corpus` for an equal share of the time, in a process of its
own. *refused*: with an error of ovplace's own tree; damaged profiles and compiled models are not refused, they are as
good as none. *wrong*: any other error, or the end of the process, with the number of the first mutation that did it.
`slowest`: processor time of one. `peak`: memory of the process, about 245 MiB of which are its imports.
"""

from __future__ import annotations

import multiprocessing
import os
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from pathlib import Path

from benchmarks.report import Row
from benchmarks.timing import memory_mib
from ovplace.testing.hostile import PARSERS, is_read, mutated

CORPUS = Path(__file__).parents[2] / "tests" / "hostile" / "corpus"


@dataclass(frozen=True)
class Options:
    """Options.

    Attributes:
        minutes: time of all parsers together.
        only: names of the parsers; all if there are none.
        seed: of the mutations.
    """

    minutes: float = 60.0
    only: tuple[str, ...] = ()
    seed: int = 0


SHORT = Options(minutes=0.05, only=("config.toml", "run.db"))


def rows(options: Options) -> Iterator[Row]:
    """Yield a row for each parser, and their sum."""
    total = dict.fromkeys(("executions", "read", "refused"), 0)
    wrong, names = 0, options.only or tuple(PARSERS)
    for name in names:
        row = _apart(name, options.seed, options.minutes * 60 / len(names))
        print(row, file=sys.stderr)
        total = {key: value + int(str(row.get(key, 0))) for key, value in total.items()}
        wrong += row["wrong"] != "nothing"
        yield row
    yield {"parser": "all", **total, "wrong": f"{wrong} parsers" if wrong else "nothing"}


def _apart(name: str, seed: int, seconds: float) -> Row:
    """Return the row of one parser, whose process may die."""
    context = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as folder, ProcessPoolExecutor(1, mp_context=context) as pool:
        begun = Path(folder) / "begun"
        begun.touch()
        try:
            return pool.submit(_fuzzed, name, seed, seconds, begun).result()
        except BrokenProcessPool:
            executions = int.from_bytes(begun.read_bytes(), "little")
            return {"parser": name, "executions": executions, "wrong": f"the process died at {executions - 1}"}


def _fuzzed(name: str, seed: int, seconds: float, begun: Path) -> Row:
    """Return the row of one parser.

    Args:
        name: of the parser.
        seed: of the mutations.
        seconds: how long to go on.
        begun: file that holds how many mutations were begun, for those who outlive this process.
    """
    example = (CORPUS / name).read_bytes()
    counts, slowest_s, wrong = {True: 0, False: 0}, 0.0, "nothing"
    end, number = time.monotonic() + seconds, 0
    with tempfile.TemporaryDirectory(dir=begun.parent) as folder, begun.open("wb", buffering=0) as count:
        while time.monotonic() < end:
            data = mutated(example, random.Random(f"{seed} {name} {number}"))
            os.pwrite(count.fileno(), (number + 1).to_bytes(8, "little"), 0)
            start = time.process_time()
            try:
                counts[is_read(name, data, Path(folder))] += 1
            except Exception as error:
                wrong = f"{type(error).__name__} at {number}" if wrong == "nothing" else wrong
            slowest_s = max(slowest_s, time.process_time() - start)
            for path in Path(folder).iterdir():
                path.unlink()
            number += 1
    return {
        "parser": name,
        "executions": number,
        "read": counts[True],
        "refused": counts[False],
        "wrong": wrong,
        "slowest ms": round(1e3 * slowest_s),
        "peak MiB": memory_mib(),
    }
