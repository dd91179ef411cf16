"""The bound on a split's gain holds for all costs that are wrong by the factor."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from benchmarks.random_costs import random_table
from ovplace.cost.evaluate.latency import latency_ms
from ovplace.cost.solvers.gain_bound import gain_bound, in_favour_of_splits
from ovplace.testing.graphs import chain, costs, problem

ALL = np.array(list(product((0, 1), repeat=7)))


def gain(table, device):
    """Return what the best of all splits saves over one device."""
    ms = latency_ms(table, ALL[1:-1])
    return 1 - ms.min() / latency_ms(table, np.full((1, 7), device))[0]


def wrong(table, device, factor, rng):
    """Return costs that differ from the profile by up to the factor, those of the measured device excepted."""

    def lower(costs):
        return costs / rng.uniform(1, factor, costs.shape)

    group_ms = lower(table.group_ms)
    group_ms[:, device] = table.group_ms[:, device]
    return replace(
        table,
        group_ms=group_ms,
        latency_ms=lower(table.latency_ms),
        ms_per_byte=lower(table.ms_per_byte),
        submodel_ms=np.where(np.arange(2) == device, table.submodel_ms, lower(table.submodel_ms)),
    )


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("factor", [1.0, 1.3, 2.0])
def test_no_placement_gains_more(seed, factor):
    table, rng = random_table(7, seed, model_like=seed % 2 == 0), np.random.default_rng(seed)
    for device in (0, 1):
        bound = gain_bound(table, device, factor, 1.0)
        for _ in range(5):
            assert gain(wrong(table, device, factor, rng), device) <= bound + 1e-9


def test_a_larger_factor_never_gives_a_smaller_bound():
    table = random_table(7, 1)
    bounds = [gain_bound(table, 0, factor, 1.0) for factor in (1.0, 1.1, 1.5, 2.0, 4.0)]
    assert bounds == sorted(bounds)


def test_a_device_that_is_slower_at_everything_cannot_help():
    table = random_table(7, 2)
    slow = replace(table, group_ms=table.group_ms[:, :1] * np.array([1.0, 4.0]), saving_ms=table.saving_ms * [1.0, 0.0])
    assert gain_bound(slow, 0, 1.25, 1.0) == 0
    assert gain_bound(slow, 1, 1.25, 1.0) > 0.3


def test_nothing_can_be_gained_on_a_model_that_costs_nothing():
    table = random_table(7, 3)
    free = replace(table, group_ms=0 * table.group_ms, saving_ms=0 * table.saving_ms, submodel_ms=0 * table.submodel_ms)
    assert gain_bound(free, 0, 1.5, 1.0) == 0


def test_the_device_itself_keeps_its_latency():
    table = random_table(7, 3)
    whole = np.zeros((1, 7), dtype=int)
    assert latency_ms(in_favour_of_splits(table, 0, 1.5), whole)[0] == pytest.approx(latency_ms(table, whole)[0])


def test_groups_that_cost_less_than_they_save():
    """A cheap first group saves much beside the second: the third gains elsewhere what the bound has to know."""
    of = problem(chain(("Add",) * 3))
    table = replace(
        costs(of, transfer_ms=0.0, submodel_ms=0.0),
        group_ms=np.array([[1.0, 50.0], [12.0, 50.0], [4.0, 0.0]]),
        saving_ms=np.array([[10.0, 0.0], [0.0, 0.0]]),
    )
    saved = (7.0 - 3.0) / 7.0
    assert gain_bound(table, 0, 1.0, 1.0) == pytest.approx(saved)
    assert gain_bound(table, 0, 2.0, 1.0) == pytest.approx(saved)


@pytest.mark.parametrize("seed", range(12))
def test_no_placement_gains_more_where_groups_save_more_than_they_cost(seed):
    table = random_table(7, seed)
    group_ms, saving_ms = 0.1 * table.group_ms, 10 * table.saving_ms
    group_ms[seed % 7] += saving_ms.sum(axis=0)  # or the whole would cost less than nothing
    table = replace(table, group_ms=group_ms, saving_ms=saving_ms)
    for device in (0, 1):
        assert gain(table, device) <= gain_bound(table, device, 2.0, 1.0) + 1e-9


def test_more_than_two_devices():
    table = random_table(6, 4, n_devices=3)
    choices = np.array(list(product(range(3), repeat=6)))
    ms = latency_ms(table, choices[[len(set(choice)) > 1 for choice in choices.tolist()]])
    alone = latency_ms(table, table.uniform_choices())
    device = int(alone.argmin())
    assert 1 - ms.min() / alone[device] <= gain_bound(table, device, 1.0, 5.0) + 1e-6
