"""Contract tests of coarseners: inherit `CoarsenerContract` and define a `plugin` fixture."""

from __future__ import annotations

import importlib

import numpy as np
import pytest

from ovplace.core.partition import Partition
from ovplace.graphs.op_graph import OpGraph
from ovplace.plugins.registry import Plugin
from ovplace.testing.child import in_another_process
from ovplace.testing.contracts.plugin import PluginContract
from ovplace.testing.graphs import chain, diamond, graph, layered, renamed

Case = tuple[OpGraph, Partition]


def coarsener_cases() -> dict[str, Case]:
    """Return graphs with their legal groups, by name."""
    large = layered(150, seed=3)
    return {
        "no operation": (graph((), ()), Partition.identity(0)),
        "one operation": (chain(("Relu",)), Partition.identity(1)),
        "unconnected": (graph(("Add",) * 90, ()), Partition.identity(90)),
        "diamond": (diamond(), Partition.identity(6)),
        "long chain": (chain(("Add", "Sin") * 60), Partition.identity(120)),
        "random": (large, Partition.identity(150)),
        "groups of two": (large, Partition.from_labels(large.rank // 2)),
        "groups in a circle": (chain(("Add", "Sin") * 60), Partition(np.arange(120) % 80)),
    }


def groups(module: str) -> list[list[int]]:
    """Return the groups that the coarsener in `module` finds, case by case; run in another process."""
    plugin = Plugin("coarseners", module, importlib.import_module(module))
    return [_coarsen(plugin, *case).group_of.tolist() for case in coarsener_cases().values()]


def _coarsen(plugin: Plugin, of: OpGraph, legal: Partition) -> Partition:
    allowed = np.ones((legal.n_groups, 2), dtype=bool)
    allowed[::3, 1] = False
    found = plugin.factory(plugin.Config()).coarsen(of, legal, allowed)
    assert isinstance(found, Partition)
    return found


class CoarsenerContract(PluginContract):
    """Checks a coarsener on small graphs; a subclass defines the fixture `plugin`."""

    @pytest.fixture(params=coarsener_cases())
    def case(self, request: pytest.FixtureRequest) -> Case:
        """Return a graph and its legal groups."""
        return coarsener_cases()[request.param]

    def test_legal_groups_stay_whole(self, plugin: Plugin, case: Case) -> None:
        """Every operation is in a group, no legal group in two, and there are no more groups than before."""
        of, legal = case
        found = _coarsen(plugin, of, legal)
        assert found.group_of.shape == (len(of),)
        assert found.n_groups <= legal.n_groups
        for members in legal.members:
            assert len(np.unique(found.group_of[members])) <= 1, "a legal group is torn apart"

    def test_closes_no_cycle(self, plugin: Plugin, case: Case) -> None:
        """If the graph of the legal groups is acyclic, so is that of the coarse groups."""
        of, legal = case
        if legal.quotient(of).is_acyclic:
            _coarsen(plugin, of, legal).quotient(of, acyclic=True)

    def test_deterministic(self, plugin: Plugin, case: Case) -> None:
        """Two calls return the same groups."""
        assert np.array_equal(_coarsen(plugin, *case).group_of, _coarsen(plugin, *case).group_of)

    def test_names_do_not_matter(self, plugin: Plugin, case: Case) -> None:
        """Renaming the operations changes nothing."""
        of, legal = case
        assert np.array_equal(_coarsen(plugin, *case).group_of, _coarsen(plugin, renamed(of), legal).group_of)

    def test_same_groups_in_another_process(self, plugin: Plugin) -> None:
        """No decision depends on the order of a set of strings."""
        name = plugin.module.__name__
        assert groups(name) == in_another_process(__name__, "groups", name)
