from __future__ import annotations

import numpy as np
import pytest

from ovplace.errors import DivergedError
from ovplace.learning.sampling import sample_categorical


def test_by_probability_is_the_inverse_of_the_distribution():
    p = np.array([[0.2, 0.0, 0.8]])
    assert [int(sample_categorical(p, np.array([u]))[0]) for u in (0.0, 0.19, 0.21, 0.999)] == [0, 0, 2, 2]


def test_what_is_impossible_is_never_drawn():
    p = np.array([[0.0, 0.5, 0.0, 0.5, 0.0]])
    uniforms = np.array([0.0, 0.5 - 1e-12, 0.5, 1 - 1e-16])
    assert sample_categorical(np.repeat(p, 4, axis=0), uniforms).tolist() == [1, 1, 3, 3]


def test_from_no_numbers_nothing_is_drawn():
    with pytest.raises(DivergedError, match=r"the policy has diverged.*lower placer\.learning_rate"):
        sample_categorical(np.array([[0.5, 0.5], [np.nan, np.nan]]), np.array([0.1, 0.1]))
