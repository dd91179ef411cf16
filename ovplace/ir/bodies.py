"""The bodies of operations that hold whole models: If, Loop, TensorIterator.

The type of an operation is asked, not the operation: a Node looks up what is no method of it among its attributes,
which takes a large model as long as reading it (`python -m benchmarks run read_large`).
"""

from __future__ import annotations

from collections.abc import Iterator

import openvino as ov


def bodies(op: ov.Node) -> tuple[ov.Model, ...]:
    """Return the models inside `op`: then and else of an If, the body of a Loop, none for other operations."""
    if hasattr(type(op), "get_then_body"):
        return op.get_then_body(), op.get_else_body()
    return (op.get_body(),) if hasattr(type(op), "get_body") else ()


def wiring(op: ov.Node) -> list[str]:
    """Return how the bodies of `op` are tied to its inputs and outputs, as text; `get_attributes()` leaves it out."""
    if hasattr(type(op), "get_then_body"):
        described = [f(i) for i in range(2) for f in (op.get_input_descriptions, op.get_output_descriptions)]
    elif hasattr(type(op), "get_body"):
        described = [op.get_input_descriptions(), op.get_output_descriptions()]
        if hasattr(type(op), "get_special_body_ports"):
            described.append([op.get_special_body_ports()])
    else:
        described = []
    return [_text(item) for part in described for item in part]


def all_models(model: ov.Model) -> Iterator[ov.Model]:
    """Yield `model` and every model nested in its operations."""
    yield model
    for op in model.get_ordered_ops():
        for body in bodies(op):
            yield from all_models(body)


def nested(op: ov.Node) -> Iterator[ov.Node]:
    """Yield `op` and every operation in its bodies."""
    yield op
    for body in bodies(op):
        for model in all_models(body):
            yield from model.get_ops()


def _text(description: object) -> str:
    fields = sorted(name for name in dir(description) if not name.startswith("_"))
    values = ((name, getattr(description, name)) for name in fields)
    return f"{type(description).__name__} " + " ".join(f"{name}={v}" for name, v in values if isinstance(v, int))
