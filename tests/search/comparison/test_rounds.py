"""Rounds: what is measured afresh, and what the latencies of several rounds say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ovplace.core.measurement import Candidate, ErrorKind, Measurement
from ovplace.core.placement import Placement
from ovplace.core.verdict import LEVEL
from ovplace.search.comparison.afresh import measured_afresh
from ovplace.search.comparison.rounds import Rounds
from ovplace.session.measurer import Measurer
from ovplace.store.run_db import RunStore
from ovplace.testing.sessions import OPS, QUICK, DirectPool, session

LOST = Measurement.failed(ErrorKind.CRASH, "lost")
CANDIDATES = [Candidate(f"split {i}", Placement(np.arange(OPS) % i // (i - 1), ("A", "B"))) for i in (2, 3)]


def took(*block_medians_ms):
    return Measurement(block_medians_ms, (1,) * len(block_medians_ms))


def rounds(*measured, planned=None):
    """Return rounds of `best` and `CPU`; None for one that did not take part."""
    named = [{name: m for name, m in zip(("best", "CPU"), pair, strict=True) if m} for pair in measured]
    return Rounds(tuple(named), len(named) if planned is None else planned)


@pytest.fixture
def measuring():
    """Return a measurer whose pool notes processes and requests; what it answers can be changed."""
    seen: dict[str, Any] = {"processes": 0, "requests": [], "answers": [took(4.0), took(8.0)]}

    def fresh():
        seen["processes"] += 1

    def measure(candidates, spec):
        seen["requests"].append([candidate.name for candidate in candidates])
        return seen["answers"]

    store = RunStore(Path(":memory:"))
    yield Measurer(session(Path(), DirectPool(measure, fresh)), store), seen
    store.close()


def test_each_name_is_measured_once_in_a_process_of_its_own(measuring):
    measurer, seen = measuring
    first = measured_afresh(measurer, CANDIDATES, QUICK, "round", 0)
    assert first == seen["answers"]
    assert (seen["processes"], seen["requests"]) == (1, [["split 2", "split 3"]])
    seen["answers"] = [took(5.0), took(8.0)]
    assert measured_afresh(measurer, CANDIDATES, QUICK, "round", 0) == first
    assert (seen["processes"], len(seen["requests"])) == (1, 1)


def test_each_process_begins_with_another_candidate(measuring):
    measurer, seen = measuring
    for number in range(3):
        measured = measured_afresh(measurer, CANDIDATES, QUICK, "round", number)
        assert measured == seen["answers"][:: 1 if number % 2 == 0 else -1]
    assert seen["processes"] == 3
    assert seen["requests"] == [["split 2", "split 3"], ["split 3", "split 2"], ["split 2", "split 3"]]


def test_what_was_measured_afresh_is_kept_with_its_ratio_to_the_second(measuring):
    measurer, _ = measuring
    measured_afresh(measurer, CANDIDATES, QUICK, "round", 0)
    kept = measurer.store.measurements()
    assert [(one.name, one.ratio) for one in kept] == [("split 2", 0.5), ("split 3", 1.0)]
    assert all(one.key.endswith(" round 0") for one in kept)


def test_candidates_of_which_one_was_not_measured_are_measured_again_together(measuring):
    measurer, seen = measuring
    other = Candidate("GPU", Placement.uniform(OPS, "B"))
    measured_afresh(measurer, CANDIDATES, QUICK, "round", 0)
    measured_afresh(measurer, [CANDIDATES[0], other], QUICK, "round", 0)
    assert seen["requests"][1] == ["split 2", "GPU"]


def test_a_lost_candidate_is_tried_three_times(measuring):
    measurer, seen = measuring
    seen["answers"] = [LOST, took(8.0)]
    assert measured_afresh(measurer, CANDIDATES, QUICK, "round", 0) == seen["answers"]
    assert (seen["processes"], len(seen["requests"])) == (1, 3)


def test_nothing_was_measured_or_planned_at_first():
    assert (len(Rounds()), Rounds().planned) == (0, 0)


def test_ratios_are_of_the_rounds_in_which_both_worked():
    found = rounds((took(4.0), took(8.0)), (LOST, took(8.0)), (took(4.0), LOST), (took(6.0), None), (None, took(2.0)))
    assert len(found) == 5
    assert found.ratios("best", "CPU").tolist() == [0.5]
    assert [m.median_ms for m in found.of("best")] == [4.0, 4.0, 6.0]
    assert found.of("GPU") == ()


def test_two_rounds_have_an_interval_one_has_none():
    pair = (took(4.0), took(8.0))
    found = rounds(pair, pair).interval("best", "CPU")
    assert (found.value, found.level) == (pytest.approx(0.5), LEVEL)
    assert rounds(pair, pair).latency("best").value == pytest.approx(4.0)
    assert rounds(pair, (LOST, took(8.0))).interval("best", "CPU") is None
    assert rounds(pair, (LOST, took(8.0))).latency("best") is None
    assert rounds(pair, pair, planned=1).interval("best", "CPU") is None
    assert rounds(pair, pair, planned=1).latency("best") is None


def test_blocks_that_only_one_of_two_has_do_not_count():
    found = rounds(*[(took(4.0, 4.0, 4.0), took(8.0))] * 2, *[(took(4.0), took(8.0, 1.0))] * 2)
    assert found.interval("best", "CPU").value == pytest.approx(0.5)


def test_further_rounds_count_for_the_value_and_not_for_the_spread():
    steady, far = (took(4.0), took(8.0)), (took(16.0), took(8.0))
    for found in (rounds(steady, steady, far, planned=2), rounds(steady, steady, far, planned=3)):
        assert found.interval("best", "CPU").value == pytest.approx(0.5 * 4 ** (1 / 3))
        assert found.latency("best").value == pytest.approx(4.0 * 4 ** (1 / 3))
    narrow, wide = (rounds(steady, steady, far, planned=n) for n in (2, 3))
    for ends in ([r.interval("best", "CPU") for r in (narrow, wide)], [r.latency("best") for r in (narrow, wide)]):
        assert ends[0].low == pytest.approx(ends[0].high)
        assert ends[1].low < 0.5 * ends[1].high


@pytest.mark.parametrize(
    ("latencies_ms", "start", "unstable"),
    [
        ([10.0, 13.1], 0, True),
        ([10.0, 13.0], 0, False),
        ([13.1, 10.0, 10.0], 0, True),
        ([13.1, 10.0, 10.0], 1, False),
        ([10.0], 0, False),
        ([], 0, False),
    ],
)
def test_latencies_that_differ_by_more_than_30_percent_are_unstable(latencies_ms, start, unstable):
    found = rounds(*[(took(ms), took(10.0)) for ms in latencies_ms])
    assert found.is_unstable("best", ["CPU"], start) == unstable
    if start == 0:
        assert found.is_unstable("best", ["CPU"]) == unstable


def test_the_most_unstable_candidate_is_named_with_its_ends():
    found = rounds((took(10.0), took(7.0)), (took(12.0), took(8.0)), (took(11.0), LOST))
    assert found.most_unstable(["best", "CPU"]) == ("best", 10.0, 12.0)
    assert found.most_unstable(["CPU", "best"]) == ("best", 10.0, 12.0)


def test_what_never_worked_is_not_the_most_unstable():
    found = rounds((LOST, took(10.0)), (LOST, took(10.5)))
    assert found.most_unstable(["best", "CPU"]) == ("CPU", 10.0, 10.5)
