from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import ovplace.cost.solvers.local_descent as module
from ovplace.cost.evaluate.latency import latency_ms
from ovplace.cost.evaluate.submodels.counts import submodels_of_groups
from ovplace.cost.solvers.local_descent import local_descent, nearest
from ovplace.cost.solvers.moves import Moves
from ovplace.cost.solvers.portfolio import ranked
from ovplace.graphs.dag import lowest_connected
from ovplace.seeds import generator
from ovplace.testing.graphs import costs, layered, limited_costs, problem
from ovplace.testing.slow import slow_except


@pytest.fixture
def evaluated(monkeypatch):
    """The number of placements in each evaluation under the full model."""
    counts = []

    def counting(table, device_of):
        counts.append(len(device_of))
        return latency_ms(table, device_of)

    monkeypatch.setattr(module, "latency_ms", counting)
    return counts


def moves(table, device_of):
    """Return every placement that differs by the device of one group or of one submodel."""
    submodel = submodels_of_groups(table.n_groups, table.edges, device_of[None])[0]
    units = np.concatenate([np.eye(table.n_groups, dtype=bool), np.unique(submodel)[:, None] == submodel])
    return np.concatenate([np.where(units, device, device_of) for device in range(table.n_devices)])


@pytest.mark.parametrize("seed", range(5))
def test_moves_are_numbered_and_only_the_first_of_equal_ones_is_distinct(seed):
    rng = generator(seed, "testing", "moves")
    n, devices = int(rng.integers(1, 25)), int(rng.integers(1, 4))
    table, start = costs(problem(layered(n, seed), devices, seed), seed), rng.integers(devices, size=n)
    found, every = Moves.of(table, start), moves(table, start)
    np.testing.assert_array_equal(found.rows(np.arange(len(found))), every)
    _, first = np.unique(every, axis=0, return_index=True)
    np.testing.assert_array_equal(found.distinct, np.sort(first))


def test_a_few_moves_are_made_at_a_time(monkeypatch):
    """All of 10,000 groups on two devices would take gigabytes."""
    counts, rows = [], Moves.rows

    def counting(of, which):
        counts.append(len(which))
        return rows(of, which)

    monkeypatch.setattr(Moves, "rows", counting)
    table = costs(problem(layered(200, 0), 2), 0)
    start = table.group_ms.argmin(axis=1)
    assert list(nearest(table, start))
    local_descent(table, generator(0, "testing", "few").integers(2, size=200))
    assert max(counts) == 256


def descent(table, device_of):
    """Every move evaluated under the full model, the best one made."""
    while True:
        options = moves(table, device_of)
        values = np.where(table.fits(options), latency_ms(table, options), np.inf)
        if not values.min() < latency_ms(table, device_of[None])[0] - 1e-9:
            return device_of
        device_of = options[values.argmin()]


@pytest.mark.parametrize("seed", slow_except(range(15), range(40)))
def test_a_descent_that_passes_over_hopeless_moves_ends_where_one_that_looks_at_all_does(seed):
    rng = generator(seed, "testing", "improve")
    n, devices = int(rng.integers(2, 30)), int(rng.integers(2, 4))
    table = costs(problem(layered(n, seed), devices, seed), seed)
    table = replace(table, submodel_ms=table.submodel_ms * rng.choice([0.0, 1.0, 10.0]))
    start = rng.integers(devices, size=n)
    np.testing.assert_array_equal(local_descent(table, start), descent(table, start))


@pytest.mark.parametrize("seed", range(5))
def test_a_descent_that_looks_at_a_few_moves_at_a_time_ends_where_none_helps(seed, monkeypatch):
    monkeypatch.setattr(module, "_AT_ONCE", 4)
    table = costs(problem(layered(25, seed), seed=seed), seed)
    end = local_descent(table, generator(seed, "testing", "few").integers(2, size=25))
    np.testing.assert_array_equal(descent(table, end), end)


def cuts_ms(table, device_of):
    """Return the overhead of submodels beyond that of the connected regions on one device."""
    within = table.edges[:, device_of[table.edges[0]] == device_of[table.edges[1]]]
    labels = (
        submodels_of_groups(table.n_groups, table.edges, device_of[None])[0],
        lowest_connected(len(device_of), within),
    )
    submodels, regions = (table.submodel_ms[device_of[np.unique(label)]].sum() for label in labels)
    return submodels - regions


@pytest.mark.parametrize("seed", range(10))
def test_a_quick_descent_ends_where_nothing_helps_but_undoing_cuts(seed):
    table = costs(problem(layered(25, seed), 3, seed), seed)
    table = replace(table, submodel_ms=10 * table.submodel_ms)
    start = generator(seed, "testing", "quick").integers(3, size=25)
    end = local_descent(table, start, quick=True)
    value, *first = latency_ms(table, np.array([end, start]))
    assert value <= first[0]
    options = moves(table, end)
    helpful = options[latency_ms(table, options) < value - 1e-9]
    assert all(cuts_ms(table, option) < cuts_ms(table, end) for option in helpful)


@pytest.mark.parametrize("seed", range(12))
def test_the_nearest_moves_come_in_the_order_of_their_latency(seed, monkeypatch):
    monkeypatch.setattr(module, "_FEW", 4)
    table = limited_costs(seed)
    start = table.group_ms.argmin(axis=1)
    wanted = ranked(table, moves(table, start))
    assert [choice.tolist() for choice in nearest(table, start)] == [choice.tolist() for choice in wanted]


def test_the_nearest_move_takes_a_part_of_the_evaluations(evaluated):
    table = costs(problem(layered(150, 0), 2), 0)
    start = table.group_ms.argmin(axis=1)
    first = next(nearest(table, start))
    assert sum(evaluated) < len(moves(table, start)) / 2
    np.testing.assert_array_equal(first, ranked(table, moves(table, start))[0])


def test_the_nearest_move_in_a_large_model_takes_a_few_evaluations_and_all_others_follow(evaluated, monkeypatch):
    monkeypatch.setattr(module, "_FEW", 4)
    table = costs(problem(layered(80, 2), 2, 2), 2)
    start = table.group_ms.argmin(axis=1)
    every = [choice.tolist() for choice in nearest(table, start)]
    monkeypatch.setattr(module, "_LARGE", 79)
    evaluated.clear()
    found = nearest(table, start)
    first = next(found).tolist()
    assert (first, evaluated) == (every[0], [4])  # 36 where moves that undo cuts are looked at, too
    assert sorted([first, *(choice.tolist() for choice in found)]) == sorted(every)


@pytest.mark.parametrize(("large", "made"), [(60, 10), (30, 2), (4, 1)])
def test_a_descent_of_a_large_model_is_quick_and_makes_fewer_moves(monkeypatch, large, made):
    seen, real = [], module._best_move

    def noted(table, device_of, below_ms, *, quick):
        seen.append(quick)
        return real(table, device_of, below_ms, quick=quick)

    monkeypatch.setattr(module, "_best_move", noted)
    monkeypatch.setattr(module, "_MOST_MOVES", 10)
    monkeypatch.setattr(module, "_LARGE", large)
    table = costs(problem(layered(60, 0), 2), 0)
    local_descent(table, generator(0, "testing", "large").integers(2, size=60))
    assert seen == [large < 60] * made


def test_a_quick_descent_evaluates_a_fraction_of_the_moves(evaluated):
    table = costs(problem(layered(60, 1), 3, 1), 1)
    start = local_descent(table, generator(1, "testing", "quick").integers(3, size=60))
    evaluated.clear()
    local_descent(table, start)
    full = sum(evaluated)
    evaluated.clear()
    local_descent(table, start, quick=True)
    assert sum(evaluated) < full / 3
