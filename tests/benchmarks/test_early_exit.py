"""The profiles of the benchmark of skipped searches."""

from __future__ import annotations

import importlib
from dataclasses import replace

import numpy as np
import pytest

from benchmarks.random_costs import random_table
from ovplace.cost.evaluate.latency import latency_ms

study = importlib.import_module("benchmarks.studies.early_exit")


def alone_ms(table):
    return latency_ms(table, table.uniform_choices())


def test_a_profile_has_each_device_alone_take_what_was_measured_whatever_a_submodel_costs():
    table = random_table(12, 0)
    wrong = replace(table, group_ms=3 * table.group_ms, submodel_ms=2 * table.submodel_ms)
    np.testing.assert_allclose(alone_ms(study.as_measured(wrong, alone_ms(table))), alone_ms(table))


def test_groups_keep_a_tenth_of_the_latency_where_submodels_alone_would_exceed_it():
    table = random_table(12, 0)
    wrong = replace(table, submodel_ms=1.5 * alone_ms(table))
    np.testing.assert_allclose(alone_ms(study.as_measured(wrong, alone_ms(table))), 1.6 * alone_ms(table))


def test_a_device_that_does_not_run_the_model_keeps_its_costs():
    table = random_table(12, 0)
    first, second = np.arange(12)[:, None] == 0, np.arange(2) == 1
    table = replace(table, group_ms=np.where(first & second, np.inf, table.group_ms))
    wrong = replace(table, group_ms=2 * table.group_ms)
    np.testing.assert_array_equal(study.as_measured(wrong, alone_ms(table)).group_ms[:, 1], wrong.group_ms[:, 1])


@pytest.mark.parametrize("fastest", [0, 1])
def test_no_search_is_skipped_where_the_profile_has_another_device_for_the_fastest(fastest):
    table = random_table(12, 0)
    slow = replace(table, group_ms=table.group_ms * np.where(np.arange(2) == fastest, 1.0, 100.0))
    options = study.Options()
    assert np.isfinite(study._bounds_of(slow, fastest, options)).all()
    assert np.isinf(study._bounds_of(slow, 1 - fastest, options)).all()
