"""Estimates as users read them."""

import pytest

from ovplace.core.result.labels import ends, number, operations, percent, ratio_text, short_ms
from ovplace.core.statistics import Interval


@pytest.mark.parametrize(("value", "text"), [(None, "-"), (0.4671, "0.467"), (99.9994, "99.999"), (100.04, "100.0")])
def test_numbers_have_the_digits_that_can_be_seen(value, text):
    assert number(value) == text


@pytest.mark.parametrize(
    ("value", "text"), [(9.6, "9.6"), (3.014, "3.01"), (999.4, "999"), (999.7, "1000"), (1234.5, "1234")]
)
def test_milliseconds_in_a_sentence_have_no_exponent(value, text):
    assert short_ms(value) == text


@pytest.mark.parametrize(("low", "high"), [(0.09, 1.5), (0.5, 10.1)])
def test_an_end_ten_times_away_is_not_shown(low, high):
    assert ends(Interval(1.0, low, high)) == "[uncertain]"


def test_other_ends_are_shown():
    assert ends(Interval(1.0, 0.11, 9.9)) == "[0.110, 9.900]"
    assert ratio_text(Interval(0.467, 0.406, 0.539, level=0.98)) == "ratio 0.467 [0.406, 0.539] (98 %)"


@pytest.mark.parametrize(
    ("fraction", "text"), [(0.583, "58 %"), (0.01, "1 %"), (0.0042, "0.4 %"), (0.00042, "0.04 %"), (0.0, "0 %")]
)
def test_a_small_gain_is_not_called_none(fraction, text):
    assert percent(fraction) == text


def test_a_single_operation_is_no_plural():
    assert operations({"GPU": 1, "NPU": 0, "CPU": 7}, str.lower) == "1 operation on gpu, 7 operations on cpu"
