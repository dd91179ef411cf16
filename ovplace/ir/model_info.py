"""A model as it is, before preparing."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import openvino as ov

from ovplace.core.text.input_shapes import parse_shapes
from ovplace.ir.inputs import input_name
from ovplace.ir.opening import open_model


@dataclass(frozen=True)
class InputFacts:
    """An input of a model.

    Attributes:
        name: its tensor name.
        shape: its shape as OpenVINO writes it, such as `[?,3,224,224]`.
        element_type: its element type, such as `f32`.
        dynamic: whether a dimension is open.
    """

    name: str
    shape: str
    element_type: str
    dynamic: bool


@dataclass(frozen=True)
class ModelInfo:
    """A model as it is in its file.

    Attributes:
        operations: number of its operations.
        inputs: its inputs, in order.
    """

    operations: int
    inputs: tuple[InputFacts, ...]


def model_info(path: Path, shape: str = "") -> ModelInfo:
    """Return what there is to say of a model file without changing it.

    Args:
        path: the file.
        shape: shapes of its inputs, for files that cannot be read without.

    Raises:
        ModelError: the file cannot be read.
        UsageError: `shape` is not understood.
    """
    model = open_model(ov.Core(), path, parse_shapes(shape))
    return ModelInfo(len(model.get_ops()), tuple(_input(port) for port in model.inputs))


def _input(port: ov.Output) -> InputFacts:
    shape = port.get_partial_shape()
    return InputFacts(input_name(port), str(shape), port.get_element_type().get_type_name(), bool(shape.is_dynamic))
