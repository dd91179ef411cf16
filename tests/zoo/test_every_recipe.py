"""What holds for every recipe of one model: names, and weights that its seed decides."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ovplace import zoo
from ovplace.zoo import families
from tests.zoo.operations import all_ops, constants


@pytest.fixture(params=[name for name in zoo.names() if name not in families.family_names()])
def recipe(request):
    return zoo.recipe(request.param)


def test_names_are_given_and_unique(recipe):
    nodes = all_ops(recipe.build(recipe.SMALL))
    names = [node.friendly_name for node in nodes]
    assert len(set(names)) == len(names)
    assert not [node for node in nodes if node.friendly_name == node.get_name()]


def test_the_seed_alone_decides_the_weights(recipe):
    first, again = (constants(recipe.build(recipe.SMALL)) for _ in range(2))
    other = constants(recipe.build(replace(recipe.SMALL, seed=1)))
    assert all(np.array_equal(first[name], again[name]) for name in first)
    drawn = [name for name in first if name.endswith(("/weight", "/bias"))]
    assert drawn
    assert not any(np.array_equal(first[name], other[name]) for name in drawn)


def test_constants_are_neither_denormal_nor_trivial(recipe):
    for name, values in constants(recipe.build(recipe.SMALL)).items():
        if name.endswith("/empty_cache"):  # a cache starts with nothing, and no pass folds a state
            continue
        magnitudes = np.abs(values[values != 0])
        assert np.isfinite(values).all(), name
        assert magnitudes.min() >= np.finfo(np.float32).tiny, name
        square = name.endswith("/decode/span")  # as high as wide
        assert values.size == 1 or values.std() > 0 or square, name
