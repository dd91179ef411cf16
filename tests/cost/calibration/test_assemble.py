"""Assembling costs from timed parts: where the parts obey the model, its parameters come back."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ovplace.core.partition import Partition
from ovplace.cost.calibration.assemble import assemble
from ovplace.cost.calibration.calibrate import calibrate
from ovplace.cost.calibration.links import Links, SinglePiece, SplitPiece, fit_links, link_intervals
from ovplace.cost.calibration.part_layout import PartLayout, PartTask, PartTimes
from ovplace.cost.evaluate.latency import latency_ms, pairwise_ms
from ovplace.testing.graphs import graph, layered, problem

D = 2


def true(seed=0, n=20, **rest):
    return problem(layered(n, seed), D, seed, **rest)


def links_of(table):
    return Links(table.latency_ms, table.ms_per_byte, table.submodel_ms, np.zeros(D))


def whole(table):
    return latency_ms(table, np.repeat(np.arange(D)[:, None], table.n_groups, axis=1))


def timed(of, layout, tasks):
    """Return the times that the model gives for tasks, without overhead."""
    table, times = of.costs, PartTimes()
    for task in tasks:
        inside = np.isin(layout.unit_of, task.units)
        edges = inside[table.edges].all(axis=0)
        ms = table.group_ms[inside, task.device].sum() - table.saving_ms[edges, task.device].sum()
        times.ms[task] = (ms, ms, ms)
    return times


def everything(layout):
    units = np.where(layout.allowed, 1.0, np.inf)
    return [*layout.singles(), *layout.neighbours(units)]


@pytest.mark.parametrize("seed", range(4))
def test_the_true_costs_come_back(seed):
    of = true(seed)
    layout = PartLayout.of(of, 64)
    found = assemble(of, layout, timed(of, layout, everything(layout)), links_of(of.costs), whole(of.costs))
    np.testing.assert_allclose(found.group_ms, of.costs.group_ms, rtol=1e-5)
    np.testing.assert_allclose(found.saving_ms, of.costs.saving_ms, rtol=1e-4, atol=1e-5)
    assert found.source == "measured here"


@pytest.mark.parametrize("n", [1, 3])
def test_groups_without_edges_have_costs_too(n):
    of = problem(graph(["Sin"] * n, []), D, 0)
    layout = PartLayout.of(of, 64)
    found = assemble(of, layout, timed(of, layout, everything(layout)), links_of(of.costs), whole(of.costs))
    np.testing.assert_allclose(found.group_ms, of.costs.group_ms, rtol=1e-5)
    assert found.saving_ms.shape == (0, D)


def test_a_wrong_time_is_seen():
    of = true()
    layout = PartLayout.of(of, 64)
    times = timed(of, layout, everything(layout))
    task = max(times.ms, key=lambda t: times.ms[t][1] if len(t.units) == 1 else 0)
    times.ms[task] = tuple(2 * ms for ms in times.ms[task])
    found = assemble(of, layout, times, links_of(of.costs), whole(of.costs))
    assert abs(found.group_ms / of.costs.group_ms - 1).max() > 0.1


@pytest.mark.parametrize("most", [2, 5, 64])
@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_whatever_was_timed_the_whole_is_right_and_nothing_negative(most, share):
    of = true(3, 40)
    layout = PartLayout.of(of, most)
    tasks = everything(layout)
    found = assemble(
        of, layout, timed(of, layout, tasks[: int(share * len(tasks))]), links_of(of.costs), whole(of.costs)
    )
    np.testing.assert_allclose(whole(found), whole(of.costs), rtol=1e-6)
    choices = np.random.default_rng(0).integers(D, size=(200, of.n_groups))
    assert (pairwise_ms(found, choices) > 0).all()


def test_units_are_stretches_that_run_on_the_same_devices():
    supported = np.ones((40, D), dtype=bool)
    supported[7, 0] = supported[30, 1] = False
    of = problem(layered(40, 1), D, supported=supported)
    layout = PartLayout.of(of, 5)
    assert 5 <= len(layout.members) <= 9
    assert sorted(op for unit in layout.members for op in unit) == list(range(40))
    for unit in range(len(layout.members)):
        rows = of.allowed[layout.unit_of == unit]
        assert (rows == layout.allowed[unit]).all()
    assert len(layout.singles()) == layout.allowed.sum()


def uneven():
    """Return a chain of twenty groups, of which the twelfth has a thousand times the work of any other."""
    chain = graph(["Sin"] * 20, [(op, op + 1) for op in range(19)])
    shapes = tuple(((10**7,),) if op == 11 else ((10**4,),) for op in range(20))
    return problem(replace(chain, shapes=shapes), D, 0)


def test_light_groups_share_a_unit_and_a_heavy_one_has_its_own():
    of = uneven()
    layout = PartLayout.of(of, 3)
    heavy = layout.unit_of[of.partition.group_of[11]]
    assert layout.members[heavy] == (11,)
    assert len(layout.members) == 3


def test_what_was_not_timed_is_shared_out_by_expected_times():
    of = uneven()
    layout = PartLayout.of(of, 64)
    found = assemble(of, layout, PartTimes(), links_of(of.costs), whole(of.costs))
    share = found.group_ms / found.group_ms.sum(axis=0)
    np.testing.assert_allclose(share[of.partition.group_of[11]], layout.weight.max() / layout.weight.sum(), rtol=1e-6)
    assert share[of.partition.group_of[11]].min() > 0.9


def test_a_group_that_fails_on_a_device_cannot_run_there():
    of = true()
    layout = PartLayout.of(of, 64)
    times = timed(of, layout, everything(layout))
    times.ms[PartTask((int(layout.unit_of[4]),), 1)] = (np.inf,) * 3
    for device in range(D):
        times.ms[PartTask((int(layout.unit_of[5]),), device)] = (np.inf,) * 3
    found = assemble(of, layout, times, links_of(of.costs), np.array([whole(of.costs)[0], np.inf]))
    assert np.isinf(found.group_ms[4, 1]) and np.isfinite(found.group_ms[4, 0])
    assert np.isinf(found.group_ms[5, 1]) and np.isfinite(found.group_ms[5, 0])  # device 0 runs the whole, and so this
    assert np.isfinite(found.saving_ms).all()


def test_a_device_that_runs_the_whole_model_runs_each_group_even_one_that_failed_by_itself():
    of = true()
    layout = PartLayout.of(of, 64)
    failed = int(layout.unit_of[4])
    times = timed(of, layout, everything(layout))
    for task in times.ms:
        if task.device == 1 and failed in task.units:
            times.ms[task] = (np.inf,) * 3
    found = assemble(of, layout, times, links_of(of.costs), whole(of.costs))
    assert np.isfinite(found.group_ms).all() and np.isfinite(found.saving_ms).all()
    np.testing.assert_allclose(whole(found), whole(of.costs), rtol=1e-6)
    others = np.arange(of.n_groups) != 4
    assert (abs(found.group_ms[others] / of.costs.group_ms[others] - 1) < 0.25).all()


def test_a_device_that_runs_nothing_costs_nothing_to_save():
    of = true(supported=np.tile([True, False], (20, 1)))
    layout = PartLayout.of(of, 64)
    found = assemble(of, layout, timed(of, layout, everything(layout)), links_of(of.costs), whole(of.costs))
    assert np.isinf(found.group_ms[:, 1]).all()
    assert not found.saving_ms[:, 1].any()


def test_pairs_on_the_fastest_device_come_first():
    of = true(2)
    layout = PartLayout.of(of, 64)
    unit_ms = of.costs.group_ms
    tasks = layout.neighbours(unit_ms)
    assert len(tasks) == D * layout.pairs.shape[1] == len(set(tasks))
    best = [all(unit_ms[u, t.device] == unit_ms[u].min() for u in t.units) for t in tasks]
    assert best == sorted(best, reverse=True) and best[0]


@pytest.mark.parametrize("factor", [0.3, 0.9, 1.0, 1.2, 5.0])
def test_calibration_hits_the_whole(factor):
    of = true(1, 30)
    found = calibrate(of.costs, factor * whole(of.costs))
    np.testing.assert_allclose(whole(found), factor * whole(of.costs), rtol=1e-6)


def test_weights_count_where_they_are_read():
    from ovplace.testing.graphs import graph

    of = graph(["Parameter", "Constant", "MatMul", "MatMul"], [(0, 2), (1, 2), (2, 3), (1, 3)])
    bare = problem(of, D, partition=Partition(np.array([0, 0, 0, 1])))
    layout = PartLayout.of(bare, 9)
    found = assemble(bare, layout, PartTimes(), links_of(bare.costs), np.array([3.0, 4.0]))
    assert found.group_bytes.tolist() == [1000, 1000]


LATENCY, PER_BYTE = np.array([[0, 0.2], [0.05, 0]]), np.array([[0, 2e-6], [1e-6, 0]])
SUBMODEL, CALL = np.array([0.03, 0.1]), np.array([0.01, 0.04])


def alone(device, n_ops, noise=0.0):
    ms = CALL[device] + 0.003 * n_ops
    return SinglePiece(device, n_ops, ms * (1 + noise * np.array([-1, 0, 1])))


def split(tensors, submodels, n_bytes, noise=0.0):
    stretches = (alone(0, 5), alone(1, 3))
    work = sum(s.ms[1] - CALL[s.device] for s in stretches)
    ms = work + SUBMODEL @ submodels + (tensors * (LATENCY + n_bytes * PER_BYTE)).sum()
    return SplitPiece(ms * (1 + noise * np.array([-1, 0, 1])), stretches, submodels, tensors, n_bytes)


def bench(noise=0.0):
    cases = [([[0, 1], [0, 0]], [1, 1]), ([[0, 0], [1, 0]], [1, 1]), ([[0, 4], [0, 0]], [1, 1])]
    cases += [([[0, 2], [1, 0]], [2, 2]), ([[0, 1], [3, 0]], [1, 3])]
    splits = [split(np.array(t), np.array(n), size, noise) for t, n in cases for size in (4096, 1 << 22)]
    return [alone(d, n, noise) for d in range(D) for n in (2, 5, 9)], splits


def test_links_come_back():
    found = fit_links(D, *bench())
    np.testing.assert_allclose(found.latency_ms, LATENCY, atol=1e-6)
    np.testing.assert_allclose(found.ms_per_byte, PER_BYTE, atol=1e-12)
    np.testing.assert_allclose(found.submodel_ms, SUBMODEL, atol=1e-6)
    np.testing.assert_allclose(found.alone_ms, CALL, atol=1e-6)


def test_intervals_hold_the_truth_and_grow_with_the_noise():
    low, high = link_intervals(D, *bench(0.05))
    assert (low.submodel_ms <= SUBMODEL + 1e-9).all() and (high.submodel_ms + 1e-9 >= SUBMODEL).all()
    assert (high.alone_ms - low.alone_ms > 0).all()


def test_without_measurements_links_cost_nothing():
    found = fit_links(3, [], [])
    assert not any(array.any() for array in (found.latency_ms, found.ms_per_byte, found.submodel_ms, found.alone_ms))


def test_pieces_faster_than_their_stretches_cost_nothing():
    samples, splits = bench()
    found = fit_links(D, samples, [replace(s, ms=1e-3 * s.ms) for s in splits])
    assert not found.latency_ms.any()
