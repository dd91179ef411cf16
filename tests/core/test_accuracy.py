from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from ovplace.core.accuracy import compare, compare_all, has_no_finite_value

INF, NAN = float("inf"), float("nan")
FLOATS = arrays(np.float64, st.integers(0, 6), elements=st.floats(allow_subnormal=False))


@given(FLOATS)
def test_equal_outputs_do_not_differ(values):
    found = compare("y", values, values.copy())
    assert (found.max_abs, found.max_rel) == (0.0, 0.0)
    assert found.cosine == pytest.approx(1.0)


@given(arrays(np.float64, 6, elements=st.floats()), arrays(np.float64, 6, elements=st.floats()))
def test_no_figure_is_nan_and_no_difference_is_hidden(a, b):
    found = compare("y", a, b)
    assert not np.isnan([found.max_abs, found.max_rel, found.cosine]).any()
    assert (found.max_abs == 0.0) == np.array_equal(a, b, equal_nan=True)


def test_a_planted_difference_is_measured():
    a = np.array([[1.0, -4.0], [2.0, 0.0]], np.float32)
    b = a.copy()
    b[0, 0] += 0.5
    found = compare("y", a, b)
    assert (found.max_abs, found.max_rel) == (0.5, 0.125)
    assert 0.9 < found.cosine < 1
    assert compare("y", a, -a).cosine == pytest.approx(-1.0)


@pytest.mark.parametrize(
    ("reference", "output"),
    [([1.0, 2.0], [1.0]), ([1.0], [NAN]), ([NAN], [1.0]), ([INF], [1.0]), ([INF], [-INF]), ([INF], [NAN])],
)
def test_what_cannot_be_compared_is_infinitely_off(reference, output):
    found = compare("y", np.array(reference), np.array(output))
    assert found.max_abs == found.max_rel == INF
    assert found.cosine == 0.0


@pytest.mark.parametrize("kind", ["int64", "uint8", "bool", "float16"])
def test_every_kind_of_number(kind):
    a = np.array([0, 1, 1], kind)
    assert compare("y", a, a).max_abs == 0
    assert compare("y", a, a[::-1]).max_abs == 1


def test_text_is_equal_or_not():
    assert compare("y", np.array(["a"]), np.array(["a"])).max_abs == 0
    assert compare("y", np.array(["a"]), np.array(["b"])).max_abs == INF


def test_outputs_are_paired_by_position():
    found = compare_all(["a", "b"], [np.ones(1), np.zeros(1)], [np.ones(1), np.ones(1)])
    assert [(o.name, o.max_abs) for o in found] == [("a", 0.0), ("b", 1.0)]
    with pytest.raises(ValueError, match="zip"):
        compare_all(["a"], [np.ones(1)], [])


@pytest.mark.parametrize(
    ("values", "lost"),
    [([NAN, INF], True), ([NAN, 0.0], False), ([], False), ([1, 2], False), (["a"], False), ([True], False)],
)
def test_an_output_with_values_and_none_that_is_finite(values, lost):
    assert has_no_finite_value(np.array(values)) == lost
