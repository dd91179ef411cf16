"""Inputs to measure with: random by element type, or a user's own."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import openvino as ov
from numpy.typing import NDArray
from openvino import opset13 as opset

from ovplace.errors import ModelError
from ovplace.seeds import generator
from ovplace.store.arrays import read_arrays

Array = NDArray[np.generic]

_NUMPY_REALS = (ov.Type.f16, ov.Type.f32, ov.Type.f64)
"""The floating-point types that numpy has, too."""


def input_name(port: ov.Output) -> str:
    """Return the tensor name of a model input or output, or its operation's name where it has none."""
    return str(min(port.get_names(), default=port.get_node().get_friendly_name()))


def input_names(model: ov.Model) -> list[list[str]]:
    """Return for each input the names that mean it: its tensor names, then its operation's name.

    A name that is a tensor name of one input and the operation's name of another means the former alone.
    """
    tensors = {name for port in model.inputs for name in port.get_names()}
    return [[*sorted(port.get_names()), *({port.get_node().get_friendly_name()} - tensors)] for port in model.inputs]


def inputs_of(model: ov.Model, path: str, seed: int) -> list[Array]:
    """Return one array for each input of a static model, in the model's order.

    Args:
        model: a model with static inputs.
        path: `.npz` file that has them; empty for random ones.
        seed: root seed of random ones.

    Raises:
        ModelError: the file cannot be read, or an array is missing or does not fit.
    """
    return read_inputs(model, Path(path)) if path else random_inputs(model, seed)


def random_inputs(model: ov.Model, seed: int) -> list[Array]:
    """Return one array an input of a static model.

    Floats are N(0, 1): the time of sin and its kin depends on the values. Integers feed embeddings, gathers and masks,
    so they are 0 or 1, which nearly every table and every mask has; a single one may be a count, such as the k of
    TopK, and is 1. What chooses from a table of one row or of unknown length, such as the states of a batch, is 0.
    Booleans are true, so that nothing is masked away.

    Args:
        model: a model with static inputs.
        seed: root seed; each input has its own generator.

    Returns:
        One array for each input, in the model's order.
    """
    return [_random(port, generator(seed, "input", i)) for i, port in enumerate(model.inputs)]


def _random(port: ov.Output, rng: np.random.Generator) -> Array:
    shape = tuple(port.get_shape())
    kind = port.get_element_type()
    if kind == ov.Type.boolean:
        return np.ones(shape, dtype=bool)
    if kind.is_real():
        return rng.standard_normal(shape).astype(_numpy_type(kind))
    if kind == ov.Type.string:
        return np.full(shape, "a")
    if kind == ov.Type.u8 and len(shape) == 4:
        return rng.integers(0, 256, shape).astype(np.uint8)  # an image
    rows = min(map(_rows, port.get_target_inputs()), default=inf)
    if np.prod(shape) == 1 or rows < 2:
        return np.full(shape, int(rows >= 2), dtype=kind.to_dtype())
    return rng.integers(0, 2, shape).astype(kind.to_dtype())


def _rows(reader: ov.Input) -> float:
    """Return the rows that an input of an operation chooses from: 0 if not known, infinite where it chooses none."""
    gather = reader.get_node()
    if gather.get_type_name() != "Gather" or reader.get_index() != 1:
        return inf
    shape, axis = gather.get_input_partial_shape(0), gather.input_value(2).get_node()
    if shape.rank.is_dynamic or not isinstance(axis, ov.op.Constant):
        return 0
    length = list(shape)[int(axis.get_data().item())]
    return int(length.get_length()) if length.is_static else 0


def read_inputs(model: ov.Model, path: Path) -> list[Array]:
    """Return the arrays of an `.npz`, one an input, matched by `input_names`.

    Args:
        model: a model with static inputs.
        path: the `.npz` file.

    Returns:
        One array for each input, in the model's order, of the input's element type.

    Raises:
        ModelError: the file cannot be read, or an array is missing or does not fit in shape, type or values.
    """
    try:
        arrays = read_arrays(path)
    except (OSError, ValueError) as error:
        raise ModelError(f"cannot read the inputs '{path}': {error}; give an .npz, one array for each input") from error
    pairs = zip(model.inputs, input_names(model), strict=True)
    return [_matching(port, names, arrays, path) for port, names in pairs]


def _matching(port: ov.Output, names: list[str], arrays: dict[str, Array], path: Path) -> Array:
    found = next((arrays[name] for name in names if name in arrays), None)
    if found is None:
        has = ", ".join(sorted(arrays)) or "none"
        raise ModelError(f"'{path}' has no array for input '{input_name(port)}', it has {has}; give one of that name")
    if found.shape != (wanted := tuple(port.get_shape())):
        raise ModelError(
            f"'{input_name(port)}' in '{path}' is of shape {found.shape}, the model wants {wanted}; "
            "give an array of that shape, or other shapes for the model"
        )
    kind = port.get_element_type()
    if found.dtype.kind not in _numpy_kinds(kind):
        raise ModelError(
            f"'{input_name(port)}' in '{path}' holds {found.dtype}, the model wants {kind.get_type_name()}; "
            "give an array of that type"
        )
    return found if kind == ov.Type.string else _in_range(port, found, path)


def _numpy_kinds(kind: ov.Type) -> str:
    """Return the letters of numpy's kinds of types whose values an element type takes."""
    if kind == ov.Type.string:
        return "SU"
    return "biuf" if kind.is_real() else "biu"


def _in_range(port: ov.Output, found: Array, path: Path) -> Array:
    """Return numbers in numpy's type for the port; floating-point ones may be rounded, but none is wrapped."""
    kind = port.get_element_type()
    with np.errstate(over="ignore"):  # what numpy warns of is refused below
        made = found.astype(_numpy_type(kind))
    outside = _too_large(port, found, made) if kind.is_real() else _outside(kind, found)
    if outside:
        raise ModelError(
            f"'{input_name(port)}' in '{path}' holds {outside[0]!s}, which is outside the range of "
            f"{kind.get_type_name()}, the input's type; give values within it"
        )
    return made


def _too_large(port: ov.Output, found: Array, made: Array) -> list[np.generic]:
    """Return the first finite number that is not finite any more as the port takes it, if there is one."""
    return list(found[np.isfinite(found) & ~np.isfinite(as_array(as_tensor(port, made)))][:1])


def _outside(kind: ov.Type, found: Array) -> list[int]:
    """Return the lowest and the highest of some integers, as far as an element type has them not."""
    values = range(2) if kind == ov.Type.boolean else _integers(kind)
    return [int(end) for end in (found.min(), found.max()) if int(end) not in values] if found.size else []


def _integers(kind: ov.Type) -> range:
    """Return the values of an integer type."""
    half = 2 ** (kind.bitwidth - 1)
    return range(-half, half) if kind.is_signed() else range(2 * half)


def _numpy_type(kind: ov.Type) -> np.dtype[Any]:
    """Return numpy's type for the values of an element type."""
    found: np.dtype[Any] = _unpacked(kind).to_dtype()
    return found


def _unpacked(kind: ov.Type) -> ov.Type:
    """Return the type in which numpy has the values of another: f32 for bf16 and f8, a byte for 4 bits."""
    if kind.is_real():
        return kind if kind in _NUMPY_REALS else ov.Type.f32
    narrow = ov.Type.i8 if kind.is_signed() else ov.Type.u8
    return narrow if kind.bitwidth < 8 else kind


def as_tensor(port: ov.Output, array: Array) -> ov.Tensor:
    """Return `array` as a tensor of the port's element type.

    Args:
        port: the input that takes the tensor.
        array: its values.
    """
    kind, tensor = port.get_element_type(), ov.Tensor(np.asarray(array, order="C"))
    return tensor if kind in (tensor.get_element_type(), ov.Type.string) else _converted(tensor, kind)


def fill(request: ov.InferRequest, model: ov.Model, arrays: Sequence[Array]) -> None:
    """Give a request its inputs, by name: HETERO's automatic mode may compile a model with inputs in another order.

    Args:
        request: of a compilation of the model.
        model: the model.
        arrays: a value for each of its inputs.
    """
    for port, array in zip(model.inputs, arrays, strict=True):
        request.set_tensor(port, as_tensor(port, array))


def as_array(tensor: ov.Tensor) -> Array:
    """Return a copy of a tensor's values, in numpy's type for them."""
    kind = tensor.get_element_type()
    if kind == ov.Type.string:
        return np.array(tensor.str_data)
    unpacked = _unpacked(kind)
    return np.array((tensor if kind == unpacked else _converted(tensor, unpacked)).data)


def _converted(tensor: ov.Tensor, kind: ov.Type) -> ov.Tensor:
    """Return a tensor in another element type, by OpenVINO's own operation."""
    made = ov.Tensor(kind, tensor.get_shape())
    given = opset.parameter(tensor.get_shape(), tensor.get_element_type())
    if not opset.convert(given, kind).evaluate([made], [tensor]):
        raise ModelError(f"OpenVINO converts no values to {kind.get_type_name()}; use another type for the inputs")
    return made
