"""The study of the verdict's error rates where the answer is known."""

from __future__ import annotations

import importlib

import pytest

from ovplace.search.comparison.judgement import LOST_RATIO

study = importlib.import_module("benchmarks.studies.verdict_rates")
LEVELS = (0.5, 0.98)


def row(count=2, **case):
    return study.case_row(study.Case(**case), count, LEVELS)


def share(found, word, level=LEVELS[-1]):
    return float(found[f"{word} at {100 * level:g} %"].rstrip("%")) / 100


@pytest.mark.parametrize(("truth", "faster", "slower"), [(0.999, 1, 0), (1.0, 0, 0), (1.001, 0, 1)])
def test_without_noise_the_truth_is_found(truth, faster, slower):
    found = row(truth=truth, noise="none")
    assert [(share(found, "faster", level), share(found, "slower", level)) for level in LEVELS] == [
        (faster, slower)
    ] * 2
    assert found["measured"] == study.COMPARISON.rounds // (2 if faster else 1)


def test_what_has_surely_lost_is_measured_in_three_rounds():
    assert row(truth=LOST_RATIO + 0.1, noise="none")["measured"] == 3


def test_the_faster_of_two_baselines_stands_for_both():
    assert share(row(truth=1.0, baselines=(1.0, 1.1), noise="none"), "faster") == 0
    assert share(row(truth=0.99, baselines=(1.0, 1.1), noise="none"), "faster") == 1


def test_a_wider_interval_calls_less_faster():
    found = row(count=40)
    assert 0.1 < share(found, "faster", 0.5) < 0.45  # a quarter, were the noise normal
    assert share(found, "faster") < share(found, "faster", 0.5)


def test_the_winner_of_a_race_was_lucky_in_the_search():
    assert float(row(candidates=40)["searched"]) < 0.97


def test_cases_without_comparisons_are_left_out():
    assert list(study.rows(study.Options(equal=0, gains=0, raced=0))) == []
    assert {found["race of"] for found in study.rows(study.Options(equal=0, gains=0, raced=1))} == {"60"}
