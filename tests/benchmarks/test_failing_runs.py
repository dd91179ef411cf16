"""What became of runs of which something fails, in the columns of the benchmarks."""

from __future__ import annotations

import importlib

import pytest

from ovplace.testing.faults.failing_runs import Failed

ENDED = Failed("call 1", 0, "final comparison 2/2, done")
LINE = Failed("call 2", 1, "Error: out of memory; close other programs, or use a smaller model")
CRASHES = [
    Failed("call 3", -11, "", "exit code -11 after: "),
    Failed("call 4", -11, "final comparison 2/2, done", "exit code -11 after: final comparison 2/2, done"),
    Failed("call 5", -6, "Error: out of memory", "exit code -6 after: Error: out of memory"),
    Failed("call 6", 1, "MemoryError", "exit code 1 after: MemoryError"),
]


@pytest.mark.parametrize("failed", [ENDED, LINE, *CRASHES], ids=lambda failed: failed.what)
def test_a_run_that_crashes_neither_ended_nor_said_why(failed):
    row = importlib.import_module("benchmarks.failing_runs").columns([failed])
    became = (int(failed is ENDED), int(failed is LINE), int(failed in CRASHES))
    assert (row["ended"], row["one line"], row["crashed"]) == became
    assert (row["tried"], row["right"]) == (1, int(failed not in CRASHES))
