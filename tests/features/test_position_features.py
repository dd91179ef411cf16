from __future__ import annotations

import math

import numpy as np
import pytest

from ovplace.errors import ConfigError
from ovplace.features import depth, position, position_encoding
from ovplace.graphs.positions import latest_position
from ovplace.session.configure import effective
from ovplace.session.problem import compute_features
from ovplace.testing.graphs import chain, diamond, graph, layered


def rows(module, of):
    return module.Feature(module.Config()).compute(of)


def test_a_chain_is_numbered_from_0_to_1():
    of = chain(("Parameter", "Sin", "Cos", "Add", "Result"))
    expected = np.array([0, 0.25, 0.5, 0.75, 1])
    assert np.allclose(rows(position, of), np.stack([expected, expected], axis=1))
    assert np.allclose(rows(depth, of), np.stack([expected, expected[::-1]], axis=1))


@pytest.mark.parametrize("seed", range(3))
def test_positions_lie_in_0_to_1_and_grow_along_edges(seed):
    of = layered(80, seed)
    found = rows(position, of)
    assert found.min() >= 0
    assert found.max() <= 1
    assert (found[of.edges[0]] < found[of.edges[1]]).all()


def test_the_encoding_is_its_formula():
    of = layered(40, 0)
    found, places = rows(position_encoding, of), latest_position(of)
    assert found.shape == (40, 16)
    for op, place in enumerate(places):
        for i in range(8):
            angle = place / 10_000 ** (2 * i / 16)
            assert math.isclose(found[op, 2 * i], math.sin(angle), abs_tol=1e-9)
            assert math.isclose(found[op, 2 * i + 1], math.cos(angle), abs_tol=1e-9)


def test_the_number_of_columns_is_a_setting():
    config = effective(None, ["features.position_encoding.columns=4"], {"features": ["position_encoding", "depth"]})
    assert compute_features(layered(5, 0), config.plugins.features).shape == (5, 4 + 2)
    with pytest.raises(ConfigError, match="columns must be even"):
        effective(None, ["features.position_encoding.columns=3"])
    with pytest.raises(ConfigError, match=r"'features\.depth' must be a table of settings, got '3'"):
        effective(None, ["features.depth=3"])


def test_depth_and_height_leave_the_slack():
    of = graph(("Parameter", "Sin", "Cos", "Constant", "Add"), [(0, 1), (1, 2), (2, 4), (3, 4)])
    found = rows(depth, of)
    assert np.allclose(found.sum(axis=1), [1, 1, 1, 1 / 3, 1])
    assert np.allclose(rows(depth, diamond()).sum(axis=1), 1)


def test_without_edges_all_is_0():
    assert not rows(depth, graph(("Sin", "Cos"), ())).any()
