from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
import pytest

from ovplace.cost.evaluate.latency import latency_ms
from ovplace.errors import OvplaceError
from ovplace.plugins import registry
from ovplace.testing.graphs import chain, graph, layered, problem

PARTITION = registry.load("placers", "partition")


def asked(of, **settings):
    placements = PARTITION.factory(of, PARTITION.Config(**settings)).ask(10_000)
    return np.array([placement.device_of for placement in placements]).reshape(-1, of.n_groups)


def uniform_work(of, **changes):
    """Return the problem with groups that take 1 ms anywhere and nothing else but transfers of 1 us a byte."""
    g, d, q = of.n_groups, len(of.devices), of.quotient.edges.shape[1]
    costs = replace(
        of.costs,
        group_ms=np.ones((g, d)),
        saving_ms=np.zeros((q, d)),
        latency_ms=np.zeros((d, d)),
        ms_per_byte=np.full((d, d), 1e-3),
        submodel_ms=np.zeros(d),
        **changes,
    )
    return replace(of, costs=costs)


def two_clusters():
    """Return two cliques of five operations with one edge between them."""
    inside = [(i, j) for start in (0, 5) for i in range(start, start + 5) for j in range(i + 1, start + 5)]
    return uniform_work(problem(graph(["Add"] * 10, [*inside, (4, 5)])))


def test_few_bytes_are_cut():
    found = asked(two_clusters(), steps=1).tolist()
    assert sorted(found) == [[0] * 5 + [1] * 5, [1] * 5 + [0] * 5]


@pytest.mark.parametrize("n_devices", [2, 3, 5])
def test_shares_go_from_the_speeds_to_one_sided(n_devices):
    of = uniform_work(problem(chain(["Add"] * 60), n_devices))
    largest = np.array([[(row == device).mean() for device in range(n_devices)] for row in asked(of)]).max(axis=1)
    assert largest.min() == pytest.approx(1 / n_devices, abs=0.05)
    assert largest.max() > 0.8


def test_the_best_under_the_model_comes_first_and_none_twice():
    of = problem(layered(30, seed=4), n_devices=3)
    found = asked(of)
    assert (np.diff(latency_ms(of.costs, found)) >= 0).all()
    assert len(np.unique(found, axis=0)) == len(found) > 20


def test_a_group_that_failed_in_the_profile_goes_where_it_runs():
    of = two_clusters()
    group_ms = of.costs.group_ms.copy()
    group_ms[2, 0] = np.inf
    found = asked(replace(of, costs=replace(of.costs, group_ms=group_ms)), steps=1).tolist()
    assert sorted(found) == [[0, 0, 1, 0, 0] + [1] * 5, [1] * 5 + [0] * 5]


def test_what_does_not_fit_into_memory_is_not_proposed():
    of = problem(layered(30, seed=4))
    half = replace(of.costs, group_bytes=np.ones(30), memory_bytes=np.array([10.0, np.inf]))
    found = asked(replace(of, costs=half))
    assert len(found) > 0
    assert (found == 0).sum(axis=1).max() <= 10


@pytest.mark.parametrize("n_devices", [2, 3, 7])
def test_metis_says_nothing_on_standard_output(n_devices, capfd):
    for n in range(1, 20):
        assert len(asked(problem(layered(n, seed=n), n_devices)))
    assert capfd.readouterr() == ("", "")


def test_without_the_extra_the_error_names_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "pymetis", None)
    with pytest.raises(OvplaceError, match=r"pip install 'ovplace\[partition\]'"):
        PARTITION.factory(problem(layered(8, seed=1)), PARTITION.Config())


@pytest.mark.parametrize("name", ["partition", "etf"])
def test_without_costs_the_error_says_so(name):
    plugin = registry.load("placers", name)
    assert plugin.factory.needs_costs(plugin.Config())
    with pytest.raises(OvplaceError, match="needs the costs"):
        plugin.factory(replace(problem(layered(8, seed=1)), costs=None), plugin.Config())


def test_bad_settings_are_refused():
    with pytest.raises(ValueError, match="at least 1"):
        PARTITION.Config(steps=0)
