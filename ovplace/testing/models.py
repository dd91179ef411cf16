"""Tiny models, each with one property that makes it hard to place; inputs are f32 unless documented otherwise."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import openvino as ov
from openvino import opset13 as ops
from openvino.op.util import Variable, VariableInfo


def _weight(name: str, *shape: int, kind: type = np.float32) -> ov.Node:
    rng = np.random.default_rng(sum(name.encode()))
    values = rng.integers(-90, 90, shape) if np.issubdtype(kind, np.integer) else rng.normal(0, 0.3, shape)
    return ops.constant(values.astype(kind), name=name)


def _ints(*values: int) -> ov.Node:
    return ops.constant(np.array(values, np.int64))


def _input(name: str, *shape: int, kind: type = np.float32) -> ov.Node:
    node = ops.parameter(list(shape), kind, name=name)
    node.output(0).set_names({name})
    return node


def _model(outputs: list[ov.Node | ov.Output], inputs: list[ov.Node], sinks: list[ov.Node] | None = None) -> ov.Model:
    results = [ops.result(output) for output in outputs]
    return ov.Model(results, sinks, inputs) if sinks else ov.Model(results, inputs)


def _dequantised(name: str, *shape: int) -> ov.Node:
    real = ops.convert(_weight(f"{name}/i8", *shape, kind=np.int8), "f32", name=f"{name}/convert")
    zero = ops.convert(_weight(f"{name}/zero", shape[0], 1, kind=np.int8), "f32", name=f"{name}/zero/convert")
    shifted = ops.subtract(real, zero, name=f"{name}/subtract")
    return ops.multiply(shifted, _weight(f"{name}/scale", shape[0], 1), name=f"{name}/multiply")


def residual() -> ov.Model:
    """Convolutions with a skip connection around them."""
    x = _input("x", 1, 3, 8, 8)
    first = ops.relu(ops.convolution(x, _weight("w0", 4, 3, 3, 3), [1, 1], [1, 1], [1, 1], [1, 1], name="conv0"))
    second = ops.convolution(first, _weight("w1", 4, 4, 3, 3), [1, 1], [1, 1], [1, 1], [1, 1], name="conv1")
    return _model([ops.reduce_mean(ops.add(second, first, name="sum"), _ints(2, 3), False)], [x])


def inner_output() -> ov.Model:
    """An output that is also read inside the model, by two branches that meet again; it comes last."""
    x = _input("x", 2, 4)
    inner = ops.softmax(x, 1, name="inner")
    met = ops.add(ops.sigmoid(inner), ops.tanh(ops.relu(inner, name="relu")))
    return _model([met, inner], [x])


def int8_weights() -> ov.Model:
    """Two int8 weights behind their dequantisation, with a skip connection."""
    x = _input("x", 2, 8)
    first = ops.matmul(x, _dequantised("w0", 8, 8), False, True, name="matmul0")
    middle = ops.relu(first, name="middle")
    second = ops.matmul(middle, _dequantised("w1", 8, 8), False, True, name="matmul1")
    return _model([ops.add(first, second, name="sum")], [x])


def tied_embedding() -> ov.Model:
    """A dequantised table that both ends of the model read; the input holds i64 token numbers."""
    tokens = _input("tokens", 1, 4, kind=np.int64)
    table = _dequantised("table", 12, 8)
    hidden = ops.gather(table, ops.mod(ops.abs(tokens), ops.constant(np.int64(12))), _ints(0), name="embed")
    hidden = ops.tanh(hidden, name="middle")
    return _model([ops.matmul(hidden, table, False, True, name="head")], [tokens])


def shared_scalar() -> ov.Model:
    """One f16 scalar behind a Convert that distant operations read."""
    x = _input("x", 2, 8)
    scale = ops.convert(ops.constant(np.float16(0.5), name="half"), "f32", name="half/convert")
    first = ops.relu(ops.multiply(x, scale, name="scaled0"), name="relu")
    return _model([ops.multiply(ops.exp(first), scale, name="scaled1")], [x])


def shape_chain() -> ov.Model:
    """A ShapeOf chain that a fixed input shape folds away."""
    x = _input("x", 2, 6, 4)
    size = ops.gather(ops.shape_of(ops.relu(x, name="relu"), name="shape"), _ints(0), _ints(0))
    target = ops.concat([size, _ints(3, -1)], 0, name="target")
    return _model([ops.reshape(ops.sigmoid(x), target, False, name="reshape")], [x])


def state_variable(name: str, shape: list[int]) -> Variable:
    """Return a variable of f32.

    Args:
        name: its name.
        shape: its shape.
    """
    info = VariableInfo()
    info.data_shape, info.data_type, info.variable_id = ov.PartialShape(shape), ov.Type.f32, name
    return Variable(info)


def _cached(name: str, value: ov.Node, initial: ov.Node) -> tuple[ov.Node, ov.Node]:
    """Return a rolling window `[1, 4, 8]` over the last rows, one new row each inference, and its Assign."""
    variable = state_variable(name, [1, 4, 8])
    past = ops.read_value(initial, variable, name=f"{name}/read")
    joined = ops.concat([past, value], 1, name=f"{name}/concat")
    window = ops.slice(joined, _ints(1), _ints(5), _ints(1), _ints(1), name=f"{name}/window")
    assign = ops.assign(window, variable)
    assign.set_friendly_name(f"{name}/assign")
    return window, assign


def kv_cache() -> ov.Model:
    """Two attention layers with residual connections, each with a key and a value cache."""
    x = _input("x", 1, 1, 8)
    zeros = np.zeros((1, 4, 8), np.float32)
    hidden, sinks = ops.add(x, _weight("bias", 1, 1, 8), name="embed"), []
    for layer in range(2):
        query, key, value = (
            ops.matmul(hidden, _weight(f"{layer}/{part}/w", 8, 8), False, False, name=f"{layer}/{part}")
            for part in "qkv"
        )
        keys, key_assign = _cached(f"{layer}/keys", key, ops.constant(zeros))
        values, value_assign = _cached(f"{layer}/values", value, ops.constant(zeros))
        scores = ops.softmax(ops.matmul(query, keys, False, True, name=f"{layer}/scores"), -1)
        hidden = ops.add(hidden, ops.matmul(scores, values, False, False), name=f"{layer}/out")
        sinks += [key_assign, value_assign]
    return _model([hidden], [x], sinks)


def initialised_state() -> ov.Model:
    """A variable whose first value is computed from an input."""
    x = _input("x", 1, 1, 8)
    first = ops.tile(ops.tanh(x, name="first"), _ints(1, 4, 1), name="initial")
    window, assign = _cached("cache", ops.relu(x, name="row"), first)
    return _model([ops.exp(ops.negative(ops.abs(window)), name="out")], [x], [assign])


def delayed() -> ov.Model:
    """Two variables that keep something of the input: no path leads from ReadValue to Assign."""
    x, zeros = _input("x", 1, 4), ops.constant(np.zeros((1, 4), np.float32))
    outputs, sinks = [], []
    for number, stored in enumerate((ops.exp(x, name="stored"), ops.negative(x))):
        variable = state_variable(f"past{number}", [1, 4])
        past = ops.read_value(zeros, variable, name=f"{number}/read")
        sinks.append(ops.assign(stored, variable))
        outputs.append(ops.tanh(ops.subtract(ops.sigmoid(x), past, name=f"{number}/difference"), name=f"{number}/out"))
    return _model(outputs, [x], sinks)


def prompt() -> ov.Model:
    """A mask as long as what is read first, as where a language model reads a prompt: it fits the first state alone."""
    x, mask = _input("x", 1, 4, 8), _input("mask", 4, 4)
    variable = state_variable("past", [1, -1, 8])
    past = ops.read_value(ops.constant(np.zeros((1, 0, 8), np.float32)), variable)
    keys = ops.concat([past, ops.tanh(x)], 1)
    scores = ops.add(ops.matmul(x, keys, False, True), mask)
    return _model([ops.exp(scores)], [x, mask], [ops.assign(keys, variable)])


def nonzero() -> ov.Model:
    """Rows chosen by value: shapes that only inference knows, and a ShapeOf chain on them."""
    x = _input("x", 4, 6)
    places = ops.transpose(ops.non_zero(ops.relu(x), "i64", name="nonzero"), _ints(1, 0), name="places")
    chosen = ops.gather_nd(ops.exp(x), places, 0, name="chosen")
    count = ops.gather(ops.shape_of(chosen, name="shape"), _ints(0), _ints(0), name="count")
    target = ops.concat([count, _ints(1)], 0, name="target")
    column = ops.reshape(ops.sqrt(chosen), target, False, name="column")
    wide = ops.broadcast(_weight("row", 1, 3), ops.concat([count, _ints(3)], 0), name="wide")
    return _model([ops.add(column, wide, name="sum"), ops.multiply(column, column)], [x])


def detector() -> ov.Model:
    """Non-maximum suppression and the classes gathered for what it keeps."""
    boxes, scores = _input("boxes", 1, 10, 4), _input("scores", 1, 2, 10)
    limit = ops.constant(np.int64(3))
    kept = ops.non_max_suppression(
        ops.sigmoid(boxes), ops.sigmoid(scores), limit, ops.constant(np.float32(0.5)), ops.constant(np.float32(0.1))
    )
    index = ops.squeeze(ops.gather(kept.output(0), _ints(2), _ints(1)), _ints(1), name="index")
    picked = ops.gather(ops.squeeze(ops.exp(boxes), _ints(0)), index, _ints(0), name="picked")
    flat = ops.reshape(picked, ops.concat([ops.shape_of(index), _ints(2, 2)], 0), False, name="pairs")
    return _model([ops.relu(flat), ops.negative(kept.output(1)), kept.output(2)], [boxes, scores])


def runtime_reshape() -> ov.Model:
    """A reshape whose target, and a slice whose end, an i64 input decides."""
    x, size = _input("x", 4, 6), _input("size", 1, kind=np.int64)
    rows = ops.add(ops.mod(ops.abs(size), _ints(2)), _ints(1), name="rows")
    target = ops.concat([ops.multiply(rows, _ints(2)), _ints(-1)], 0, name="target")
    shaped = ops.relu(ops.reshape(ops.tanh(x), target, False, name="reshape"))
    return _model([ops.slice(shaped, _ints(0), rows, _ints(1), _ints(0), name="slice"), ops.exp(shaped)], [x, size])


def tensor_iterator() -> ov.Model:
    """A TensorIterator over the rows, between ordinary operations."""
    x = _input("x", 1, 5, 8)
    row, state = ops.parameter([1, 1, 8], np.float32), ops.parameter([1, 1, 8], np.float32)
    stepped = ops.result(ops.tanh(ops.add(row, state)))
    loop = ops.tensor_iterator()
    loop.set_function(ov.Model([stepped], [row, state], "body"))
    loop.set_sliced_input(row, ops.relu(x).output(0), 0, 1, 1, -1, 1)
    loop.set_merged_input(state, _weight("start", 1, 1, 8).output(0), stepped.output(0))
    rows = loop.get_concatenated_slices(stepped.output(0), 0, 1, 1, -1, 1)
    last = loop.get_iter_value(stepped.output(0), -1)
    return _model([ops.exp(rows), ops.multiply(last, last)], [x])


def conditional() -> ov.Model:
    """An If that a run-time comparison decides."""
    x = _input("x", 2, 4)
    condition = ops.greater(ops.reduce_sum(x, _ints(0, 1), False), ops.constant(np.float32(0)), name="condition")
    inner = [ops.parameter([2, 4], np.float32) for _ in range(2)]
    ends = [ops.result(ops.exp(inner[0])), ops.result(ops.add(inner[1], _weight("shift", 2, 4)))]
    choice = ops.if_op(condition.output(0))
    choice.set_then_body(ov.Model([ends[0]], [inner[0]], "then"))
    choice.set_else_body(ov.Model([ends[1]], [inner[1]], "else"))
    choice.set_input(ops.tanh(x).output(0), inner[0], inner[1])
    return _model([ops.relu(choice.set_output(ends[0], ends[1]))], [x])


def several_outputs() -> ov.Model:
    """TopK and Split, with outputs that go to different readers, one that goes nowhere, and `a * a`."""
    x = _input("x", 2, 6)
    top = ops.topk(ops.exp(x), ops.constant(np.int64(3)), 1, "max", "value")
    parts = ops.split(ops.tanh(x), ops.constant(np.int64(1)), 3)
    squared = ops.multiply(top.output(0), top.output(0), name="squared")
    picked = ops.gather_elements(ops.sigmoid(x), top.output(1), 1, name="picked")
    return _model([ops.add(squared, picked), ops.relu(parts.output(0)), ops.negative(parts.output(2))], [x])


def loose_ends() -> ov.Model:
    """An input nobody reads, a constant, a dequantised constant and an input that are outputs."""
    x, unused = _input("x", 2, 4), _input("unused", 3)
    outputs = [ops.relu(ops.exp(x)), _weight("given", 2, 2), _dequantised("table", 4, 4), x]
    return _model(outputs, [x, unused])


def unread_input() -> ov.Model:
    """A chain, and an input that nobody reads."""
    x, unread = _input("x", 2, 4), _input("unread", 3)
    y = ops.matmul(ops.tanh(ops.exp(x)), _weight("w", 4, 4), transpose_a=False, transpose_b=False)
    return _model([ops.relu(ops.sigmoid(y))], [unread, x])


def two_parts() -> ov.Model:
    """Two unconnected parts, whose inputs have the same shape."""
    a, b = _input("a", 2, 4), _input("b", 2, 4)
    return _model([ops.tanh(ops.exp(a)), ops.relu(ops.negative(b))], [a, b])


def nothing_computed() -> ov.Model:
    """A model that returns its input and a constant."""
    x = _input("x", 2, 4)
    return _model([x, _weight("given", 2, 2)], [x])


TINY: dict[str, Callable[[], ov.Model]] = {
    build.__name__: build
    for build in (
        residual, int8_weights, tied_embedding, shared_scalar, shape_chain, kv_cache, initialised_state, delayed,
        nonzero, detector, runtime_reshape, tensor_iterator, conditional, several_outputs, loose_ends, unread_input,
        two_parts, nothing_computed,
    )
}  # fmt: skip
"""Every tiny model by name."""
