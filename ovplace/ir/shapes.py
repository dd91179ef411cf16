"""Static shapes: the text that users write, and applying it to a model."""

from __future__ import annotations

import re

import openvino as ov

from ovplace.errors import ModelError, UsageError
from ovplace.ir.exceptions import last_line
from ovplace.ir.inputs import input_name

Shape = tuple[int, ...]

_EXAMPLE = "write it as data[1,3,224,224],mask[1,8] or, for a single input, [1,3,224,224]"
_ITEM = re.compile(r"\s*([^\[\],]*)\[([^\[\]]*)\]\s*(,|$)")


def parse_shapes(text: str) -> dict[str, Shape]:
    """Return {input name: shape} from benchmark_app's `-shape` syntax, restricted to static shapes.

    Args:
        text: such as `data[1,3,224,224],mask[1,8]`; a shape without a name has the key `""` and is for every input.

    Raises:
        UsageError: the text is not in that syntax, or a dimension is not a fixed number.
    """
    shapes: dict[str, Shape] = {}
    position = 0
    while position < len(text):
        item = _ITEM.match(text, position)
        if item is None or (item[3] and item.end() == len(text)):
            raise UsageError(f"--shape '{text}' is not understood from '{text[position:]}' on; {_EXAMPLE}")
        name = item[1].strip()
        if name in shapes:
            raise UsageError(f"--shape '{text}' gives {_input(name)} twice; give one shape for each input")
        shapes[name] = tuple(_dimension(d, text) for d in item[2].split(",")) if item[2].strip() else ()
        position = item.end()
    if "" in shapes and len(shapes) > 1:
        raise UsageError(f"--shape '{text}' mixes shapes with and without input names; {_EXAMPLE}")
    return shapes


def make_static(model: ov.Model, shapes: dict[str, Shape]) -> None:
    """Give the inputs of `model` the shapes of `parse_shapes`, in place.

    Args:
        model: the model to reshape.
        shapes: a shape for each input name; the name "" stands for the only input.

    Raises:
        UsageError: a name is no input of the model, or a shape has another rank than its input.
        ModelError: the model can't take these shapes, or inputs without a shape are dynamic, or have no element type.
    """
    wanted = _by_port(model, shapes)
    if wanted:
        try:
            model.reshape({model.inputs[i]: ov.PartialShape(list(shape)) for i, shape in wanted.items()})
        except RuntimeError as error:
            given = ",".join(f"{input_name(model.inputs[i])}{_brackets(shape)}" for i, shape in wanted.items())
            raise ModelError(
                f"the model does not accept the shapes {given}: {last_line(error)}; its inputs are {_inputs(model)}"
            ) from error
    dynamic = [i for i, port in enumerate(model.inputs) if port.get_partial_shape().is_dynamic]
    if dynamic:
        asked = ",".join(f"{input_name(model.inputs[i])}{_partial(model, i)}" for i in dynamic)
        raise ModelError(
            f"{len(dynamic)} of {len(model.inputs)} inputs have no fixed shape; "
            f"pass --shape '{asked}', in Python shape='{asked}', with a number in place of each ? or range"
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


def _dimension(text: str, whole: str) -> int:
    text = text.strip()
    if re.fullmatch(r"[0-9]{1,9}", text) and int(text) > 0:
        return int(text)
    why = "must be a fixed number from 1 to 999999999 (no ?, -1, ranges): placements are measured at one shape"
    raise UsageError(f"dimension '{text}' in --shape '{whole}' {why}")


def _by_port(model: ov.Model, shapes: dict[str, Shape]) -> dict[int, Shape]:
    wanted = {}
    for name, shape in shapes.items():
        for i in _ports(model, name):
            rank = model.inputs[i].get_partial_shape().rank
            if rank.is_static and rank.get_length() != len(shape):
                raise UsageError(
                    f"--shape gives {_input(input_name(model.inputs[i]))} {len(shape)} dimensions, "
                    f"but it has {rank.get_length()}: {_partial(model, i)}"
                )
            wanted[i] = shape
    return wanted


def _ports(model: ov.Model, name: str) -> list[int]:
    if not name:
        return list(range(len(model.inputs)))
    for i, port in enumerate(model.inputs):
        if name in port.get_names() or name == port.get_node().get_friendly_name():
            return [i]
    raise UsageError(f"--shape names '{name}', which is no input of the model; its inputs are {_inputs(model)}")


def _inputs(model: ov.Model) -> str:
    return ", ".join(f"{input_name(model.inputs[i])}{_partial(model, i)}" for i in range(len(model.inputs))) or "none"


def _input(name: str) -> str:
    return f"input '{name}'" if name else "the only input"


def _partial(model: ov.Model, index: int) -> str:
    shape = model.inputs[index].get_partial_shape()
    return "[...]" if shape.rank.is_dynamic else f"[{','.join(str(d) for d in shape)}]"


def _brackets(shape: Shape) -> str:
    return f"[{','.join(map(str, shape))}]"
