"""Inputs of every kind reach the model as they are."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import openvino as ov
import pytest
from openvino import opset13 as opset

from ovplace.errors import ModelError
from ovplace.ir.inputs import as_array, as_tensor, random_inputs, read_inputs
from ovplace.ir.shapes import make_static
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


@pytest.mark.parametrize("kind", [ov.Type.u4, ov.Type.i4, ov.Type.u2], ids=lambda kind: kind.get_type_name())
def test_integers_of_less_than_a_byte_keep_their_shape(kind: ov.Type) -> None:
    given = opset.parameter([3, 3], kind, name="given")
    values = np.arange(9).reshape(3, 3) % 4 - (2 if kind.is_signed() else 0)
    found = as_array(as_tensor(given.output(0), values.astype(kind.to_dtype())))
    np.testing.assert_array_equal(found, values)


@pytest.mark.parametrize("seed", range(8))
def test_a_single_integer_is_a_valid_count(seed: int) -> None:
    values, k = opset.parameter([5], ov.Type.f32, name="values"), opset.parameter([], ov.Type.i32, name="k")
    model = ov.Model([opset.topk(values, k, 0, "max", "value").output(0)], [values, k], "top")
    assert random_inputs(model, seed)[1].tolist() == 1


@pytest.mark.parametrize(("rows", "row"), [(1, 0), (2, 1), (-1, 0)])
def test_a_row_that_is_chosen_is_in_the_table(rows: int, row: int) -> None:
    values, index = opset.parameter([abs(rows), 4], ov.Type.f32), opset.parameter([1], ov.Type.i32)
    table = opset.relu(values) if rows > 0 else opset.transpose(opset.non_zero(values), np.array([1, 0]))
    model = ov.Model([opset.gather(table, index, np.array(-2))], [values, index], "rows")
    assert random_inputs(model, seed=0)[1].tolist() == [row]


def two_inputs(shape: ov.PartialShape) -> ov.Model:
    """Return a model of which one input has the tensor name that is the operation's name of the other."""
    inputs = [opset.parameter(shape, ov.Type.f32, name=operation) for operation in ("b", "a2")]
    for parameter, tensor in zip(inputs, ("b_t", "b"), strict=True):
        parameter.output(0).set_names({tensor})
    return ov.Model([opset.add(*inputs)], inputs, "two inputs")


def test_a_tensor_name_comes_before_the_name_of_another_operation(tmp_path: Path) -> None:
    model = two_inputs(ov.PartialShape([2]))
    np.savez(tmp_path / "inputs.npz", b_t=np.full(2, 1.0), b=np.full(2, 2.0))
    assert [array.tolist() for array in read_inputs(model, tmp_path / "inputs.npz")] == [[1, 1], [2, 2]]


def test_a_shape_by_tensor_name_is_not_given_to_another_operation() -> None:
    model = two_inputs(ov.PartialShape([-1]))
    make_static(model, {"b_t": (3,), "b": (3,)})
    assert [list(port.get_shape()) for port in model.inputs] == [[3], [3]]


def test_an_operation_name_still_means_its_input(tmp_path: Path) -> None:
    model = two_inputs(ov.PartialShape([2]))
    np.savez(tmp_path / "inputs.npz", b_t=np.full(2, 1.0), a2=np.full(2, 2.0))
    assert [array.tolist() for array in read_inputs(model, tmp_path / "inputs.npz")] == [[1, 1], [2, 2]]


def read_back(kind: ov.Type, values: object, folder: Path) -> list[object]:
    given = opset.parameter(np.shape(values), kind, name="given")
    np.savez(folder / "inputs.npz", given=np.asarray(values))
    [array] = read_inputs(ov.Model([opset.result(given)], [given], "one input"), folder / "inputs.npz")
    return list(array.tolist())


@pytest.mark.parametrize(
    ("kind", "values", "told"),
    [
        (ov.Type.u8, [0, 300], "holds 300, which is outside the range of u8"),
        (ov.Type.u8, [0, -1], "holds -1, which is outside the range of u8"),
        (ov.Type.i64, np.array([2**63], np.uint64), f"holds {2**63}, which is outside the range of i64"),
        (ov.Type.i4, [8], "holds 8, which is outside the range of i4"),
        (ov.Type.boolean, [2], "holds 2, which is outside the range of boolean"),
        (ov.Type.f16, [1e6, 1.0], "holds 1000000.0, which is outside the range of f16"),
        (ov.Type.f16, [1_000_000], "holds 1000000, which is outside the range of f16"),
        (ov.Type.f32, [-1e300], r"holds -1e\+300, which is outside the range of f32"),
        (ov.Type.bf16, np.array([3.4e38], np.float32), r"holds 3\.4.*e\+38, which is outside the range of bf16"),
        (ov.Type.f8e4m3, [1e4], "holds 10000.0, which is outside the range of f8e4m3"),
        (ov.Type.f32, [1 + 2j], "holds complex128, the model wants f32"),
        (ov.Type.i64, [1 + 0j], "holds complex128, the model wants i64"),
        (ov.Type.i64, np.array([5], "m8[s]"), r"holds timedelta64\[s\], the model wants i64"),
        (ov.Type.i64, [1.0], "holds float64, the model wants i64"),
        (ov.Type.f32, ["1"], "holds <U1, the model wants f32"),
    ],
)
@pytest.mark.filterwarnings("error")
def test_values_that_the_type_has_not_are_refused(kind: ov.Type, values: object, told: str, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=told) as caught:
        read_back(kind, values, tmp_path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("kind", "values", "read"),
    [
        (ov.Type.u8, np.array([0, 255], np.int64), [0, 255]),
        (ov.Type.u64, np.array([2**64 - 1], np.uint64), [2**64 - 1]),
        (ov.Type.i8, [True, False], [1, 0]),
        (ov.Type.boolean, [0, 1], [False, True]),
        (ov.Type.i64, np.zeros(0, np.int32), []),
        (ov.Type.f32, [1e-60, np.inf], [0.0, np.inf]),
        (ov.Type.f16, [7, 65504], [7.0, 65504.0]),
        (ov.Type.f32, [0.1], [float(np.float32(0.1))]),
        (ov.Type.string, ["a", "bc"], ["a", "bc"]),
    ],
)
@pytest.mark.filterwarnings("error")
def test_values_are_taken_and_rounded(kind: ov.Type, values: object, read: list[object], tmp_path: Path) -> None:
    assert read_back(kind, values, tmp_path) == read
