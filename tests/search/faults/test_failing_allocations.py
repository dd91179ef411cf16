"""The n-th allocation of a call fails, and only that: in a process of its own, as other threads here allocate, too."""

from __future__ import annotations

import subprocess
import sys

import pytest

from ovplace.testing.faults import failing_allocations
from ovplace.testing.faults.failing_runs import spread

pytestmark = pytest.mark.skipif(not failing_allocations.available(), reason="needs Python's _testcapi")

WORK = """
import collections, sys, types
from pathlib import Path
from ovplace.testing.faults.failing_allocations import FailingAllocation

work = types.ModuleType("work")
work.act = lambda: [bytes(100 + number % 3) for number in range(1000)]
sys.modules["work"] = work
number, call, log = int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3])
FailingAllocation("work:act", call, number, log=log).arm()
found = []
for _ in range(3):
    try:
        found.append(len(work.act()))
    except MemoryError:
        found.append("none")
print(*found)
"""


def worked(number, call, log):
    command = [sys.executable, "-c", WORK, str(number), str(call), str(log)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_one_call_fails(tmp_path):
    assert worked(500, 2, tmp_path / "log") == ["1000", "none", "1000"]
    assert worked(10_000, 2, tmp_path / "log") == ["1000"] * 3, "it does not make so many"


def test_allocations_are_counted(tmp_path):
    assert worked(0, 1, tmp_path / "log") == ["1000"] * 3
    count = int((tmp_path / "log").read_text())
    assert 1000 <= count < 3000, "a thousand texts, and the numbers above 256"
    assert worked(count - 20, 1, tmp_path / "log")[0] == "none"


def test_numbers_are_spread_over_the_logarithm():
    assert spread(4, 10) == [1, 2, 3, 4]
    found = spread(1_000_000, 5)
    assert found == [10, 100, 1000, 10_000, 100_000]
