"""Giving the inputs of a model static shapes."""

from __future__ import annotations

import shlex

import openvino as ov

from ovplace.core.text.input_shapes import named, shape_item
from ovplace.errors import ModelError, UsageError
from ovplace.graphs.op_graph import Shape
from ovplace.ir.exceptions import last_line
from ovplace.ir.inputs import input_name, input_names


def make_static(model: ov.Model, shapes: dict[str, Shape]) -> None:
    """Give the inputs of `model` the shapes of `parse_shapes`, in place.

    Args:
        model: the model to reshape.
        shapes: a shape for each input name; the name "" stands for all of them.

    Raises:
        UsageError: a name is no input of the model, or a shape has another rank than its input.
        ModelError: the model can't take these shapes, or inputs without a shape are dynamic, or have no element type.
    """
    wanted = _by_port(model, shapes)
    if wanted:
        try:
            model.reshape({model.inputs[i]: ov.PartialShape(list(shape)) for i, shape in wanted.items()})
        except RuntimeError as error:
            given = ",".join(shape_item(input_name(model.inputs[i]), shape) for i, shape in wanted.items())
            raise ModelError(
                f"the model does not accept the shapes {given}: {last_line(error)}; its inputs are {_inputs(model)}"
            ) from error
    dynamic = [i for i, port in enumerate(model.inputs) if port.get_partial_shape().is_dynamic]
    if dynamic:
        asked = ",".join(_item(model, i) for i in sorted({*dynamic, *wanted}))  # what was given is typed again
        all_of_them = any(model.inputs[i].get_partial_shape().rank.is_dynamic for i in dynamic)
        raise ModelError(
            f"{len(dynamic)} of {len(model.inputs)} inputs have no fixed shape; "
            f"pass --shape {shlex.quote(asked)} with a number in place of each ? or range"
            + (" and all dimensions in place of ..." if all_of_them else "")
        )
    _check_types(model)


def _check_types(model: ov.Model) -> None:
    """Refuse inputs without an element type, as scripted PyTorch models have them."""
    for port in model.inputs:
        if port.get_element_type().is_dynamic():
            name, shape = input_name(port), list(port.get_shape())
            raise ModelError(
                f"input '{name}' has no element type; convert the model with it, such as "
                f"openvino.convert_model(model, input=[('{name}', {shape}, openvino.Type.f32)])"
            )


def _by_port(model: ov.Model, shapes: dict[str, Shape]) -> dict[int, Shape]:
    wanted = {}
    for name, shape in shapes.items():
        for i in _ports(model, name):
            rank = model.inputs[i].get_partial_shape().rank
            if rank.is_static and rank.get_length() != len(shape):
                raise UsageError(
                    f"--shape gives {named(input_name(model.inputs[i]))} {len(shape)} dimensions, "
                    f"but it has {rank.get_length()}: {_item(model, i)}"
                )
            wanted[i] = shape
    return wanted


def _ports(model: ov.Model, name: str) -> list[int]:
    if not name:
        return list(range(len(model.inputs)))
    for i, names in enumerate(input_names(model)):
        if name in names:
            return [i]
    raise UsageError(f"the model has no input '{name}'; its inputs are {_inputs(model)}")


def _inputs(model: ov.Model) -> str:
    return ", ".join(_item(model, i) for i in range(len(model.inputs))) or "none"


def _item(model: ov.Model, index: int) -> str:
    """Return an input's name and shape as `--shape` takes them, with ? and ranges where it is open."""
    shape = model.inputs[index].get_partial_shape()
    return shape_item(input_name(model.inputs[index]), ["..."] if shape.rank.is_dynamic else shape)
