"""The rooms whose tests are tested, and what each test of them reaches."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.mutants.runner import forked, pytest_main
from ovplace.errors import OvplaceError

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Room:
    """Modules and the tests that are theirs.

    Attributes:
        name: for the table.
        sources: patterns of files, from the root of the repository.
        tests: folders and files of tests.
    """

    name: str
    sources: tuple[str, ...]
    tests: tuple[str, ...]

    def files(self) -> list[Path]:
        """Return the sources in alphabetical order."""
        return sorted(path for pattern in self.sources for path in ROOT.glob(pattern) if path.stem != "__init__")


ROOMS = (
    Room("run store", ("ovplace/atomic.py", "ovplace/store/*.py"), ("tests/store",)),
    Room("search loop", ("ovplace/search/**/*.py",), ("tests/search",)),
    Room("affinities", ("ovplace/ir/affinity.py",), ("tests/ir/test_affinity.py",)),
    Room("exports", ("ovplace/exporters/*.py",), ("tests/exporters",)),
)


@dataclass(frozen=True)
class Reach:
    """What the tests of a room run, where nothing is changed.

    Attributes:
        seconds: time of each test that passes, by its node id.
        lines: node ids of the tests that run a line, by file and line; what an import runs is in none.
    """

    seconds: dict[str, float]
    lines: dict[str, dict[int, list[str]]]

    def tests_of(self, file: Path, first: int, last: int, limit_s: float) -> list[str]:
        """Return the tests that run some lines, the quickest first; those of the file where none runs them.

        Args:
            file: a source of the room.
            first: first line.
            last: last line.
            limit_s: as many tests as take so long together, and one at least.
        """
        lines = self.lines.get(str(file), {})
        found = {test for line in range(first, last + 1) for test in lines.get(line, ())}
        found = found or {test for tests in lines.values() for test in tests}
        chosen: list[str] = []
        total = 0.0
        for test in sorted(found & self.seconds.keys(), key=lambda name: (self.seconds[name], name)):
            total += self.seconds[test]
            if chosen and total > limit_s:
                break
            chosen.append(test)
        return chosen


def reach_of(room: Room, kept: Path, limit_s: float) -> Reach:
    """Return what the tests of a room reach: run them once, and keep what was found in a file.

    Args:
        room: the room.
        kept: the file; it is read where it is there.
        limit_s: time limit.

    Raises:
        OvplaceError: the tests did not end, or what they reach was not recorded.
    """
    if not kept.exists():
        kept.parent.mkdir(parents=True, exist_ok=True)
        code = forked(lambda: _record(room, kept.resolve()), limit_s)
        if not kept.exists():
            why = f"did not end in {limit_s:g} s" if code is None else f"ended with code {code}"
            raise OvplaceError(f"the tests of the {room.name} {why}; run `pytest {' '.join(room.tests)}`")
        if code:
            print(f"some tests of the {room.name} fail without a fault, and are left out", file=sys.stderr, flush=True)
    data = json.loads(kept.read_text(encoding="utf-8"))
    lines = {file: {int(line): tests for line, tests in found.items()} for file, found in data["lines"].items()}
    return Reach(data["seconds"], lines)


def _record(room: Room, kept: Path) -> int:
    import coverage

    files = [str(file) for file in room.files()]
    measured = coverage.Coverage(data_file=None, include=files, config_file=False)
    timer = _Timer(measured)
    measured.start()
    code = pytest_main(["--maxfail=1000", *room.tests], [timer])
    measured.stop()
    data = measured.get_data()
    lines = {file: _with_tests(data.contexts_by_lineno(file)) for file in data.measured_files()}
    kept.write_text(json.dumps({"seconds": timer.seconds, "lines": lines}), encoding="utf-8")
    return code


def _with_tests(contexts: dict[int, list[str]]) -> dict[int, list[str]]:
    return {line: [test for test in tests if test] for line, tests in contexts.items()}


class _Timer:
    """Tells coverage which test runs, and notes how long each takes that passes."""

    def __init__(self, measured: Any) -> None:
        self.seconds: dict[str, float] = {}
        self._measured = measured
        self._failed: set[str] = set()

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self._measured.switch_context(nodeid)

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed or report.skipped:
            self._failed.add(report.nodeid)
        self.seconds[report.nodeid] = self.seconds.get(report.nodeid, 0.0) + report.duration

    def pytest_sessionfinish(self) -> None:
        self.seconds = {test: took for test, took in self.seconds.items() if test not in self._failed}


def modules_of(room: Room) -> Iterator[tuple[Path, str]]:
    """Yield file and dotted name of each module of a room."""
    for file in room.files():
        yield file, ".".join(file.relative_to(ROOT).with_suffix("").parts)
