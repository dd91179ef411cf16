"""Inputs of every kind reach the model as they are."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import openvino as ov
import pytest
from openvino import opset13 as opset

from ovplace.ir.inputs import as_array, as_tensor, random_inputs, read_inputs
from ovplace.ir.timing.once import time_once

KINDS = (ov.Type.f32, ov.Type.f16, ov.Type.bf16, ov.Type.i64, ov.Type.u8, ov.Type.boolean, ov.Type.i4, ov.Type.f8e4m3,
         ov.Type.f8e5m2)  # fmt: skip


@pytest.mark.parametrize("shape", [[], [1], [2, 3]])
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.get_type_name())
def test_an_input_keeps_its_shape(kind: ov.Type, shape: list[int], tmp_path: Path) -> None:
    given = opset.parameter(shape, kind, name="given")
    model = ov.Model([opset.relu(opset.convert(given, "f32"))], [given], "one input")
    [array] = random_inputs(model, seed=0)
    assert tuple(as_tensor(model.inputs[0], array).get_shape()) == tuple(shape)
    ov.save_model(model, tmp_path / "model.xml")
    time_once(tmp_path / "model.xml")


def test_a_slice_becomes_a_tensor_of_its_own() -> None:
    given = opset.parameter([4, 2], ov.Type.f32, name="given")
    every_other = np.arange(16, dtype=np.float32).reshape(4, 4)[:, ::2]
    model = ov.Model([opset.relu(given)], [given], "one input")
    np.testing.assert_array_equal(as_tensor(model.inputs[0], every_other).data, every_other)


@pytest.mark.parametrize("kind", [ov.Type.bf16, ov.Type.f8e4m3, ov.Type.f8e5m2], ids=lambda kind: kind.get_type_name())
def test_values_of_types_that_numpy_has_not_are_kept(kind: ov.Type, tmp_path: Path) -> None:
    given = opset.parameter([2, 2], kind, name="given")
    model = ov.Model([opset.convert(given, "f32")], [given], "one input")
    values = np.array([[0.5, -2.0], [1.75, 0.0]])
    np.savez(tmp_path / "inputs.npz", given=values)
    [read] = read_inputs(model, tmp_path / "inputs.npz")
    np.testing.assert_array_equal(as_array(as_tensor(model.inputs[0], read)), values)


@pytest.mark.parametrize("seed", range(8))
def test_a_single_integer_is_a_valid_count(seed: int) -> None:
    values, k = opset.parameter([5], ov.Type.f32, name="values"), opset.parameter([], ov.Type.i32, name="k")
    model = ov.Model([opset.topk(values, k, 0, "max", "value").output(0)], [values, k], "top")
    assert random_inputs(model, seed)[1].tolist() == 1
