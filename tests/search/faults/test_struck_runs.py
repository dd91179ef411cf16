"""Whole runs that are struck from outside and inside: they end with the same trials, and leave nothing behind."""

from __future__ import annotations

import shutil
from pathlib import Path

import openvino as ov
import pytest

from ovplace.seeds import generator
from ovplace.testing.faults import failing_allocations, failing_calls, failing_runs
from ovplace.testing.faults.kinds import KINDS
from ovplace.testing.faults.striking import Setting, strike_run, undisturbed
from ovplace.testing.models import TINY

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc/self").exists(), reason="looks processes up in /proc"),
    pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning"),
]
EACH = 400
"""Of the calls that change the database one in so many, and all others; half of these fail here, all in a benchmark."""


@pytest.fixture(scope="module")
def setting(tmp_path_factory):
    folder = tmp_path_factory.mktemp("struck")
    ov.save_model(TINY["residual"](), folder / "tiny.xml", compress_to_fp16=False)
    return Setting(folder / "tiny.xml", folder)


@pytest.fixture(scope="module")
def expected(setting):
    return undisturbed(setting.at("undisturbed"))


@pytest.fixture(scope="module")
def whole(setting):
    return failing_runs.whole(failing_runs.short(setting).at("whole"))


@pytest.mark.parametrize("name", KINDS)
def test_a_struck_run_ends_with_the_same_trials(setting, expected, name):
    found = strike_run(setting.at(name.replace(" ", "-")), KINDS[name], expected, generator(7, name), most=2)
    assert found.injected > 0
    assert found.survived == found.injected
    assert found.lost <= found.injected
    assert found.left == ()


def test_that_what_is_lost_is_seen(setting, expected):
    found = strike_run(setting.at("other"), KINDS["SIGTERM"], expected[1:], generator(7, "other"), most=1)
    assert (found.injected, found.survived) == (1, 0)


@pytest.mark.skipif(not failing_calls.available(), reason="needs gcc")
def test_any_call_that_changes_a_file_may_fail(setting, whole):
    short = failing_runs.short(setting)
    assert any("run.db-wal" in call for call in whole.calls)
    problems = []
    for number in failing_runs.chosen(whole.calls, EACH)[::2]:
        error = list(failing_runs.ERRORS.values())[number % 2]
        at = short.at(f"call-{number}")
        failed = failing_runs.failing(at, whole, number, error, on=number % 4 < 2)
        shutil.rmtree(at.folder)
        problems += [failed] if failed.wrong else []
    assert problems == []


@pytest.mark.skipif(not failing_allocations.available(), reason="needs Python's _testcapi")
@pytest.mark.parametrize("function", failing_allocations.PARTS)
def test_memory_may_end_where_a_run_reads_and_writes(setting, whole, function):
    at = failing_runs.short(setting).at(function.replace(":", "-"))
    fault = failing_allocations.FailingAllocation(function, failing_allocations.PARTS[function], number=7)
    failed = failing_runs.continued(at, whole, fault, function)
    assert failed.wrong == ""
    ends = function.endswith("write_report")  # a report may be missing
    assert (failed.code == 0, "out of memory" in failed.said) == (ends, not ends)
