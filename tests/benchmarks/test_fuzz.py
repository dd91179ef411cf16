"""The benchmark of damaged files survives what it looks for."""

from __future__ import annotations

import importlib
import os
from unittest import mock

fuzz = importlib.import_module("benchmarks.robustness.fuzz")
fuzzed = fuzz._fuzzed


def dying(*arguments):
    """The work of a parser's process, which dies of the fifth mutation."""
    seen = []

    def read(*_):
        seen.append(None)
        return len(seen) < 5 or os._exit(1)

    with mock.patch.object(fuzz, "is_read", read):
        return fuzzed(*arguments)


def test_the_row_of_a_process_that_died_names_the_mutation(monkeypatch):
    monkeypatch.setattr(fuzz, "_fuzzed", dying)
    found = fuzz._apart("config.toml", 0, 60.0)
    assert found == {"parser": "config.toml", "executions": 5, "wrong": "the process died at 4"}
