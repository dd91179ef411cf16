"""Mixed-integer programs against every placement of small graphs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import ovplace.cost.solvers.milp.solver as module
from ovplace.core.certificate import FULL, PAIRWISE
from ovplace.core.partition import Partition
from ovplace.cost.evaluate.latency import latency_ms, pairwise_ms
from ovplace.cost.solvers.milp.forest_relaxation import ForestRelaxation
from ovplace.cost.solvers.milp.solver import solve_milp
from ovplace.errors import PlacementError
from ovplace.seeds import generator
from ovplace.testing.graphs import chain, costs, diamond, graph, layered, problem
from ovplace.testing.placements import optimum
from ovplace.testing.slow import slow_except

VALUES = {PAIRWISE: pairwise_ms, FULL: latency_ms}
SIZES = ((10, 2), (8, 3), (6, 4))  # most groups, devices
GRAPHS = 300
PARTS = 10
NEED_SETTLING = (81, 201, 207, 210, 222, 273)
"""Seeds at which no forest counts as many submodels as there are."""


def instance(seed):
    """A random table: some groups cannot run everywhere in every third, memory is short in every other third."""
    rng = generator(seed, "testing", "milp")
    most, n_devices = SIZES[seed % len(SIZES)]
    n = int(rng.integers(2, most + 1))
    runs = rng.random((n, n_devices)) < (0.7 if seed // 3 % 3 == 1 else 1.0)
    runs[np.arange(n), rng.integers(n_devices, size=n)] = True
    of = problem(layered(n, seed), n_devices, seed, supported=runs)
    table = costs(of, seed, submodel_ms=(0.1, 1.0)[seed % 2])
    share = rng.uniform(0.3, 1.0, n_devices) if seed // 3 % 3 == 2 else np.full(n_devices, np.inf)
    return replace(table, memory_bytes=share * table.group_bytes.sum())


def check(table, model):
    """What a certificate claims is true, and the placement is the best there is."""
    best = optimum(table, VALUES[model])
    if np.isinf(best):
        with pytest.raises(PlacementError, match="no placement fits"):
            solve_milp(table, model)
        return
    solution = solve_milp(table, model, time_limit_s=120)
    certificate = solution.certificate
    assert table.fits(solution.device_of[None])[0]
    assert certificate.value_ms == pytest.approx(VALUES[model](table, solution.device_of[None])[0], rel=1e-12)
    assert certificate.value_ms == pytest.approx(best, rel=1e-9)
    assert certificate.lower_bound_ms <= best * (1 + 1e-7)
    assert certificate.gap <= 1e-6


@pytest.mark.parametrize("model", VALUES)
@pytest.mark.parametrize("part", slow_except(range(3), range(PARTS)))
def test_finds_the_optimum(part, model):
    for seed in range(part, GRAPHS, PARTS):
        check(instance(seed), model)


@pytest.mark.parametrize("seed", range(20))
def test_groups_that_need_each_other(seed):
    labels = generator(seed, "testing", "circle").integers(6, size=14)
    of = problem(layered(14, seed), 2 + seed % 2, seed, partition=Partition.from_labels(labels))
    check(costs(of, seed, submodel_ms=0.5), FULL)


def nothing(*arguments):
    return False


def no_tree(forest, values, violated=0.0):
    """A row that claims more overhead than there is."""
    forest.program.row([(forest.tree.ravel(), 1.0)], high=0.0)
    return False


@pytest.mark.parametrize(
    ("model", "where", "name", "broken"),
    [
        (PAIRWISE, module, "_savings", nothing),
        (PAIRWISE, module, "_transfers", nothing),
        (PAIRWISE, module, "_fit", nothing),
        (FULL, module, "add_lazy_cuts", nothing),
        (FULL, ForestRelaxation, "cut", no_tree),
    ],
)
def test_a_broken_solver_is_seen(monkeypatch, model, where, name, broken):
    tables = [tight(), *(instance(seed) for seed in (*NEED_SETTLING, *range(GRAPHS)))]
    monkeypatch.setattr(where, name, broken)
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        for table in tables:
            check(table, model)


def tight():
    """The fast device is too small for all groups by less than the tolerance of a linear program."""
    table = problem(chain(("Add", "Sin", "Relu")), 2).costs
    work = np.array([[1.0, 5.0]] * 3)
    memory = np.array([3 - 1e-8, 1e9])
    return replace(table, group_ms=work, group_bytes=np.ones(3), memory_bytes=memory)


def test_memory_is_kept_exactly():
    check(tight(), PAIRWISE)
    check(tight(), FULL)


@pytest.mark.parametrize("model", VALUES)
@pytest.mark.parametrize(
    ("work", "memory"),
    [
        ([[1.0, 2.0, 3.0]] * 3, [3 - 1e-8, 1e9, 0.0]),
        ([[1.0, 9.0, 5.0], *[[9.0, 1.0, 5.0]] * 3], [1.0, 3 - 1e-8, 1e9]),
    ],
    ids=["a device without memory", "a device that is just full"],
)
def test_only_devices_that_are_too_full_are_forbidden_anything(work, memory, model):
    """Another one is too full by less than the tolerance of a linear program."""
    table = problem(chain(("Add", "Sin", "Relu", "Add")[: len(work)]), 3).costs
    check(replace(table, group_ms=np.array(work), group_bytes=np.ones(len(work)), memory_bytes=np.array(memory)), model)


def test_no_placement_fits():
    table = problem(diamond()).costs
    with pytest.raises(PlacementError, match=r"no placement fits into memory: the model needs .* MiB"):
        solve_milp(replace(table, memory_bytes=np.full(2, 0.4) * table.group_bytes.sum()))


@pytest.mark.parametrize("model", VALUES)
def test_the_time_limit_returns_the_best_so_far(model):
    table = problem(layered(30, seed=5), 3).costs
    best = solve_milp(table, model, 3.0).certificate
    for time_limit_s in (0.0, 0.05):
        certificate = solve_milp(table, model, time_limit_s).certificate
        assert certificate.value_ms >= best.lower_bound_ms * (1 - 1e-9)
        assert certificate.lower_bound_ms <= best.value_ms * (1 + 1e-9)
        assert np.isfinite(certificate.lower_bound_ms)


def test_one_group_no_edges():
    of = problem(graph(("Relu",), ()), 3)
    check(of.costs, PAIRWISE)
    check(of.costs, FULL)


def test_an_unknown_model():
    with pytest.raises(ValueError, match="'other'"):
        solve_milp(problem(diamond()).costs, "other")


@pytest.mark.parametrize("model", VALUES)
def test_savings_above_the_work_do_not_certify_a_worse_placement(model):
    """A fitted model may cost less than nothing; zero is then no bound."""
    table = costs(problem(chain(("Add",) * 4), seed=1), seed=1, submodel_ms=0.0)
    table = replace(table, saving_ms=table.group_ms.sum() * np.array([[1.0, 1.1]] * 3))
    certificate, best = solve_milp(table, model).certificate, optimum(table, VALUES[model])
    assert best < 0
    assert certificate.value_ms == pytest.approx(best)
    assert certificate.lower_bound_ms <= certificate.value_ms
