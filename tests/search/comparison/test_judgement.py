"""The rules of the final comparison, by rounds whose latencies are given."""

from __future__ import annotations

import pytest

from ovplace.core.measurement import ErrorKind, Measurement
from ovplace.search.comparison.judgement import close_to_best, hardest_to_beat, leading, rounds_wanted
from ovplace.search.comparison.rounds import Rounds

LOST = Measurement.failed(ErrorKind.CRASH, "lost")


def rounds(planned=None, **latencies_ms):
    """Return rounds by the latencies of each candidate in turn; None for a failure."""
    measured = [
        {name: Measurement((ms,) * 3, (1,) * 3) if ms else LOST for name, ms in zip(latencies_ms, turn, strict=True)}
        for turn in zip(*latencies_ms.values(), strict=True)
    ]
    return Rounds(tuple(measured), len(measured) if planned is None else planned)


def test_baselines_up_to_15_percent_slower_than_the_best_are_close():
    assert close_to_best([2.4, 2.3, 2.0, 2.31]) == [2, 1]


@pytest.mark.parametrize(
    ("second", "third", "first_is"),
    [
        ([12.0] * 3, [15.0] * 3, "a"),
        ([20.0] * 3, [15.0] * 3, "a"),
        ([9.0] * 3, [15.0] * 3, "b"),
        ([15.0] * 3, [9.0] * 3, "c"),
        ([8.0] * 3, [9.0] * 3, "b"),
        ([None] * 3, [9.0] * 3, "c"),
        ([1.0, None, None], [11.0] * 3, "a"),
    ],
)
def test_the_fastest_placement_leads_of_those_that_have_an_interval(second, third, first_is):
    assert leading(rounds(a=[10.0] * 3, b=second, c=third), ["a", "b", "c"]) == first_is


def test_the_first_placement_leads_before_there_are_rounds():
    assert leading(Rounds(), ["a", "b"]) == "a"


@pytest.mark.parametrize(
    ("ratios", "wanted"),
    [([1.6] * 3, 3), ([1.6] * 2, 8), ([1.5] * 3, 8), ([1.6, 1.6, 1.4], 8), ([1.6] * 4, 4)],
)
def test_three_rounds_of_half_as_long_again_are_lost(ratios, wanted):
    found = rounds(best=[10.0 * ratio for ratio in ratios], CPU=[10.0] * len(ratios))
    assert rounds_wanted(found, "best", ["CPU"], len(ratios), planned=8) == wanted


@pytest.mark.parametrize(
    ("done", "planned", "look", "wanted"),
    [(6, 12, None, 6), (7, 12, None, 12), (5, 10, None, 10), (7, 20, 7, 7), (10, 20, 7, 20), (5, 12, 5, 12)],
)
def test_a_gain_beyond_doubt_ends_them_at_one_look_not_before_six(done, planned, look, wanted):
    found = rounds(best=[5.0, 5.1] * done, CPU=[10.0] * (2 * done))
    assert rounds_wanted(Rounds(found.measured[:done], done), "best", ["CPU"], done, planned, look) == wanted


@pytest.mark.parametrize("other", [[5.0] * 6, [4.9, 5.2] * 3, [None] * 6])
def test_a_gain_is_beyond_doubt_over_each_baseline_or_not_at_all(other):
    found = rounds(best=[5.0] * 6, CPU=[10.0] * 6, GPU=other)
    assert rounds_wanted(found, "best", ["CPU"], 6, planned=12) == 6
    assert rounds_wanted(found, "best", ["CPU", "GPU"], 6, planned=12) == 12


def test_a_gain_that_is_likely_is_not_beyond_doubt():
    found = rounds(best=[9.0, 9.6] * 3, CPU=[10.0] * 6)
    assert found.interval("best", "CPU", 0.99).high < 1
    assert rounds_wanted(found, "best", ["CPU"], 6, planned=12) == 12


@pytest.mark.parametrize(
    ("latencies_ms", "done", "wanted"),
    [([10.0, 14.0] * 4, 8, 12), ([10.0, 14.0] * 3, 7, 8), ([10.0, 11.0] * 4, 8, 8), ([10.0] * 8 + [14.0], 9, 8)],
)
def test_half_as_many_again_follow_where_the_planned_rounds_differ(latencies_ms, done, wanted):
    found = rounds(8, best=latencies_ms, CPU=[11.0] * len(latencies_ms))
    assert rounds_wanted(found, "best", ["CPU"], done, planned=8) == wanted


def test_the_slowest_beaten_baseline_matters_by_the_end_of_its_interval():
    found = rounds(best=[5.0] * 4, steady=[10.0] * 4, noisy=[8.0, 16.0, 9.0, 15.0])
    against, ratio = hardest_to_beat(found, "best", ["steady", "noisy"])
    assert against == "noisy"
    assert ratio == found.interval("best", "noisy")
    assert ratio.value < found.interval("best", "steady").value


def test_of_the_baselines_that_are_not_beaten_the_fastest_stands_for_all():
    found = rounds(best=[10.0] * 3, slow=[9.9, 10.3, 10.1], fast=[9.0] * 3, lost=[None] * 3)
    assert hardest_to_beat(found, "best", ["slow", "fast", "lost"])[0] == "fast"
    assert hardest_to_beat(found, "best", ["slow", "fast"], level=0.5)[1].level == 0.5
