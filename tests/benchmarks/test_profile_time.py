"""The benchmark of profiles counts failed placements apart from errors of predictions."""

from __future__ import annotations

import importlib

import numpy as np
import pytest

errors = importlib.import_module("benchmarks.micro.profile_time").errors


def test_failed_placements_are_counted_and_do_not_enter_the_mean_error():
    found = errors(np.array([[1.1, 1.0], [0.7, 1.0], [2.0, np.inf]]))
    assert found == {"placements failed": 1, "mean error": pytest.approx(0.2)}


def test_there_is_no_mean_error_where_all_placements_failed():
    assert errors(np.array([[1.0, np.inf]])) == {"placements failed": 1, "mean error": ""}
