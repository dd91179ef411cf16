"""Contract tests of node features: inherit `FeatureContract` and define a `plugin` fixture."""

from __future__ import annotations

import importlib

import numpy as np
import pytest

from ovplace.graphs.op_graph import FloatArray, OpGraph
from ovplace.plugins.registry import Plugin
from ovplace.seeds import generator
from ovplace.testing.child import in_another_process
from ovplace.testing.contracts.plugin import PluginContract
from ovplace.testing.graphs import chain, diamond, graph, layered, renamed, reordered


def feature_cases() -> dict[str, OpGraph]:
    """Return the graphs that a feature must handle, by name."""
    return {
        "one operation": chain(("Relu",)),
        "unconnected": graph(("Add", "Sin", "NeverHeardOf"), ()),
        "diamond": diamond(),
        "random": layered(60, seed=4),
    }


def rows_of_cases(module: str) -> list[list[list[float]]]:
    """Return the rows of the feature in `module`, case by case; run in another process."""
    plugin = Plugin("features", module, importlib.import_module(module))
    return [_compute(plugin, of).tolist() for of in feature_cases().values()]


def _compute(plugin: Plugin, of: OpGraph) -> FloatArray:
    found: FloatArray = plugin.factory(plugin.Config()).compute(of)
    return found


class FeatureContract(PluginContract):
    """Checks a node feature on small graphs; a subclass defines the fixture `plugin`."""

    @pytest.fixture(params=feature_cases())
    def case(self, request: pytest.FixtureRequest) -> OpGraph:
        """Return a graph."""
        return feature_cases()[request.param]

    def test_one_finite_row_an_operation(self, plugin: Plugin, case: OpGraph) -> None:
        """The array is `[N, F]`, of floats, all finite."""
        found = _compute(plugin, case)
        assert found.ndim == 2
        assert len(found) == len(case)
        assert found.dtype == np.float64
        assert np.isfinite(found).all()

    @pytest.mark.parametrize("seed", range(3))
    def test_reordering_reorders_the_rows(self, plugin: Plugin, case: OpGraph, seed: int) -> None:
        """A row belongs to an operation, not to an index."""
        order = generator(seed, "testing", "reorder").permutation(len(case)).tolist()
        assert np.allclose(_compute(plugin, reordered(case, order)), _compute(plugin, case)[order])

    def test_names_do_not_matter(self, plugin: Plugin, case: OpGraph) -> None:
        """Renaming the operations changes nothing."""
        assert np.array_equal(_compute(plugin, case), _compute(plugin, renamed(case)))

    def test_same_rows_in_another_process(self, plugin: Plugin) -> None:
        """No value depends on the order of a set of strings."""
        name = plugin.module.__name__
        assert rows_of_cases(name) == in_another_process(__name__, "rows_of_cases", name)
