from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ovplace.features import output_shape, tensor_bytes, work
from ovplace.features.output_shape import SCALE
from ovplace.graphs.work import work as counted
from ovplace.testing.graphs import graph, layered


def rows(module, of):
    return module.Feature(module.Config()).compute(of)


def shape_row(*shapes):
    of = replace(graph(("Split",), ()), shapes=(shapes,))
    return rows(output_shape, of)[0]


@pytest.mark.parametrize(
    ("shape", "dimensions", "dynamic"),
    [
        ((), [0, 0, 0, 0, 0, 0], 0),
        ((7,), [7, 0, 0, 0, 0, 0], 0),
        ((1, 3, 224, 224), [1, 3, 224, 224, 0, 0], 0),
        ((-1, 3, -1), [0, 3, 0, 0, 0, 0], 1),
        ((2, 3, 4, 5, 6, 7), [2, 3, 4, 5, 6, 7], 0),
        ((2, 3, 4, 5, 6, 7, 8), [2, 3, 4, 5, 6, 56], 0),
        ((2, 0), [2, 0, 0, 0, 0, 0], 0),
    ],
)
def test_a_shape_is_padded_and_scaled(shape, dimensions, dynamic):
    found = shape_row(shape)
    assert np.allclose(np.expm1(found[:6] * SCALE), dimensions)
    assert found[6] == dynamic
    assert found[7] == pytest.approx(len(shape) / 6)


def test_only_the_first_output_counts_and_there_may_be_none():
    assert np.array_equal(shape_row((1, 3), (2, 4)), shape_row((1, 3)))
    assert not shape_row().any()


def convolution():
    """A convolution with its weights, read twice by what follows; 1000 bytes a tensor."""
    of = graph(("Parameter", "Constant", "MatMul", "Multiply", "Result"), [(0, 2), (1, 2), (2, 3), (2, 3), (3, 4)])
    return replace(of, shapes=(((10, 25),), ((25, 40),), ((10, 40),), ((10, 40),), ((10, 40),)))


def test_tensors_count_once_and_constants_are_not_read():
    found = np.expm1(rows(tensor_bytes, convolution()) * np.log1p(tensor_bytes.SCALE))
    assert np.allclose(found[:, 0], [0, 0, 1000, 1000, 1000])
    assert np.allclose(found[:, 1], [1000, 1000, 1000, 1000, 0])


def test_work_is_that_of_the_cost_model():
    found = np.expm1(rows(work, convolution()) * np.log1p(work.SCALE))
    assert np.allclose(found[:, 0], [0, 0, 2 * 10 * 40 * 25, 10 * 40, 0])
    assert np.allclose(found[:, 1], [0, 0, 1000, 0, 0])
    of = layered(60, 0)
    assert np.allclose(np.expm1(rows(work, of)[:, 0] * np.log1p(work.SCALE[0])), counted(of).flops)
