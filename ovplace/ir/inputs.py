"""Inputs to measure with: random by element type, or a user's own."""

from __future__ import annotations

from pathlib import Path
from zipfile import BadZipFile

import numpy as np
import openvino as ov
from numpy.typing import NDArray

from ovplace.errors import ModelError
from ovplace.seeds import generator

Array = NDArray[np.generic]


def input_name(port: ov.Output) -> str:
    """Return the tensor name of a model input or output, or its operation's name where it has none."""
    return str(min(port.get_names(), default=port.get_node().get_friendly_name()))


def random_inputs(model: ov.Model, seed: int) -> list[Array]:
    """Return one array an input of a static model.

    Floats are N(0, 1): the time of sin and its kin depends on the values. Integers feed embeddings, gathers and masks,
    so they are 0 or 1, which every table and every mask has; booleans are true, so that nothing is masked away.

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
    if kind == ov.Type.bf16:
        # numpy has no bfloat16: the upper half of a float32 is one.
        return (rng.standard_normal(shape, dtype=np.float32).view(np.uint32) >> 16).astype(np.uint16)
    if kind.is_real():
        return rng.standard_normal(shape).astype(kind.to_dtype())
    if kind == ov.Type.string:
        return np.full(shape, "a")
    if kind == ov.Type.u8 and len(shape) == 4:
        return rng.integers(0, 256, shape).astype(np.uint8)  # an image
    return rng.integers(0, 2, shape).astype(kind.to_dtype())


def read_inputs(model: ov.Model, path: Path) -> list[Array]:
    """Return the arrays of an `.npz`, one an input, matched by tensor or operation name.

    Args:
        model: a model with static inputs.
        path: the `.npz` file.

    Returns:
        One array for each input, in the model's order, of the input's element type.

    Raises:
        ModelError: the file cannot be read, or an array is missing or does not fit.
    """
    try:
        with path.open("rb") as file, np.load(file) as stored:
            arrays = {name: stored[name] for name in stored.files}
    except (OSError, ValueError, TypeError, AttributeError, EOFError, BadZipFile) as error:
        raise ModelError(
            f"cannot read the inputs '{path}': {error}; it must be an .npz with one array an input"
        ) from error
    return [_matching(port, arrays, path) for port in model.inputs]


def _matching(port: ov.Output, arrays: dict[str, Array], path: Path) -> Array:
    names = {*port.get_names(), port.get_node().get_friendly_name()}
    found = next((arrays[name] for name in sorted(names) if name in arrays), None)
    if found is None:
        raise ModelError(f"'{path}' has no array for input '{input_name(port)}'; it has: {', '.join(sorted(arrays))}")
    if found.shape != tuple(port.get_shape()):
        raise ModelError(
            f"'{input_name(port)}' in '{path}' is of shape {found.shape}, the model wants {port.get_shape()}"
        )
    kind = port.get_element_type()
    if (found.dtype.kind in "SU") != (kind == ov.Type.string) or (found.dtype.kind == "f" and not kind.is_real()):
        raise ModelError(
            f"'{input_name(port)}' in '{path}' holds {found.dtype}, the model wants {kind.get_type_name()}"
        )
    if kind == ov.Type.bf16:
        return (np.ascontiguousarray(found, np.float32).view(np.uint32) >> 16).astype(np.uint16)
    return found if kind == ov.Type.string else found.astype(kind.to_dtype())


def as_tensor(port: ov.Output, array: Array) -> ov.Tensor:
    """Return `array` as a tensor of the port's element type.

    Args:
        port: the input that takes the tensor.
        array: its values, bf16 as the upper 16 bits of f32.
    """
    kind, shape = port.get_element_type(), tuple(port.get_shape())
    if kind == ov.Type.bf16:
        return ov.Tensor(np.atleast_1d(array), shape, kind)
    if kind.bitwidth < 8 and kind != ov.Type.string:
        return ov.Tensor(_packed(array.astype(np.uint8), kind.bitwidth), shape, kind)
    return ov.Tensor(np.asarray(array, order="C"))


def _packed(array: NDArray[np.uint8], bits: int) -> NDArray[np.uint8]:
    """Return values of fewer than 8 bits side by side in bytes, the first one in the lowest bits."""
    per_byte = 8 // bits
    values = np.resize(array.ravel() & (2**bits - 1), -(-array.size // per_byte) * per_byte).reshape(-1, per_byte)
    return np.asarray(np.bitwise_or.reduce(values << (bits * np.arange(per_byte, dtype=np.uint8)), axis=1))


def as_array(tensor: ov.Tensor) -> Array:
    """Return a copy of a tensor's values, bf16 as f32."""
    if tensor.get_element_type() == ov.Type.string:
        return np.array(tensor.str_data)
    values: Array = np.array(tensor.data)
    if tensor.get_element_type() == ov.Type.bf16:  # numpy has none, and OpenVINO hands it out as f16
        values = (values.view(np.uint16).astype(np.uint32) << 16).view(np.float32)
    return values
