"""The work of each operation: arithmetic and memory traffic, from its type, shapes and attributes."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from ovplace.graphs.computed_from import computed_from
from ovplace.graphs.op_graph import FloatArray, OpGraph, Shape

VIEWS = frozenset({"Parameter", "Constant", "Result", "Reshape", "Squeeze", "Unsqueeze", "ShapeOf", "Assign"})
"""Types that run no kernel: data, or views of the same memory."""

_MOVES = frozenset({
    "BatchToSpace", "Broadcast", "Concat", "Convert", "DepthToSpace", "EmbeddingBagPacked", "Gather",
    "GatherElements", "GatherND", "OneHot", "Pad", "ReadValue", "Reverse", "ReverseSequence", "Roll",
    "ScatterElementsUpdate", "ScatterNDUpdate", "ScatterUpdate", "Select", "ShuffleChannels", "Slice",
    "SpaceToBatch", "SpaceToDepth", "Split", "StridedSlice", "Tile", "Transpose", "VariadicSplit",
})  # fmt: skip
"""Types that only move data."""

_LOOK_UPS = frozenset({
    "EmbeddingBagOffsets", "EmbeddingBagOffsetsSum", "EmbeddingBagPacked", "EmbeddingBagPackedSum",
    "EmbeddingSegmentsSum", "Gather", "GatherElements", "GatherND", "Slice", "Split", "StridedSlice",
    "VariadicSplit",
})  # fmt: skip
"""Types that read as much of their first input as they write, not the whole table."""

_PER_ELEMENT: Mapping[str, float] = {
    "Softmax": 5, "LogSoftmax": 5, "MVN": 8, "GroupNormalization": 8, "NormalizeL2": 4, "LRN": 8, "RMS": 6,
    "BatchNormInference": 2, "Gelu": 10, "Erf": 8, "Exp": 6, "Log": 6, "Tanh": 8, "Sigmoid": 8, "Swish": 9, "Mish": 12,
    "HSwish": 4, "HSigmoid": 3, "SoftPlus": 10, "Elu": 7, "Selu": 7, "Sin": 8, "Cos": 8, "Power": 8, "Sqrt": 4,
    "Interpolate": 8, "GridSample": 12, "ROIAlign": 12, "FakeQuantize": 6, "Divide": 4,
}  # fmt: skip
"""Arithmetic for each output element, about what vectorised code takes; 1 for types that are not listed."""

_FLOPS_PER_MS, _BYTES_PER_MS = 5e7, 1e7
"""About what one core of a processor does."""

KERNEL_MS = 2e-3
"""About what starting a kernel takes it."""

_WEIGHT_PORTS = {
    "LSTMSequence": (4, 5), "GRUSequence": (3, 4), "RNNSequence": (3, 4),
    "LSTMCell": (3, 4), "GRUCell": (2, 3), "RNNCell": (2, 3),
}  # fmt: skip
"""Inputs of recurrent types that hold the weights of the input and of the state."""

Inputs = Mapping[int, Shape]


@dataclass(frozen=True, eq=False)
class Work:
    """The arithmetic and memory traffic of each operation in one inference.

    Attributes:
        flops: arithmetic, a multiplication with its addition counting as 2, `[N]`.
        weight_bytes: constants read, as stored, `[N]`.
        read_bytes: other tensors read, `[N]`.
        write_bytes: tensors written that anybody reads, `[N]`.
        kernels: 1 for operations that run anything, 0 for views and for what is computed from constants alone, `[N]`.
    """

    flops: FloatArray
    weight_bytes: FloatArray
    read_bytes: FloatArray
    write_bytes: FloatArray
    kernels: FloatArray


def work(graph: OpGraph) -> Work:
    """Return the work of each operation of `graph`; unknown dimensions count as 1.

    Operations of unlisted types count as element-wise. Cost: O(N + E).
    """
    constant = constant_bytes(graph)
    kernels = np.array([kind not in VIEWS for kind in graph.types], dtype=np.float64)
    kernels[list(constant)] = 0
    inputs = _input_shapes(graph)
    flops = np.array([_flops(graph, op, inputs[op]) for op in range(len(graph))], dtype=np.float64).reshape(-1)
    weights, read, written = _traffic(graph, constant)
    return Work(flops * kernels, weights * kernels, read * kernels, written * kernels, kernels)


def expected_ms(graph: OpGraph) -> FloatArray:
    """Return about how long each operation takes on one core of a processor, ms `[N]`; for use as proportions.

    Costs that are shared out by these are off by a factor of 1.2 to 3.0; by the number of operations, by one of 1.4 to
    4.9 (`python -m benchmarks run untimed_parts`).
    """
    done = work(graph)
    moved = done.weight_bytes + done.read_bytes + done.write_bytes
    return np.maximum(done.flops / _FLOPS_PER_MS, moved / _BYTES_PER_MS) + done.kernels * KERNEL_MS


def constant_bytes(graph: OpGraph) -> dict[int, int]:
    """Return the operations that are constants or computed from constants alone, with the bytes that are stored.

    Plugins fold those, or fuse them into their readers.
    """
    size = dict(zip(graph.edges[0].tolist(), graph.out_bytes.tolist(), strict=True))
    constant, stored = computed_from(graph, ("Constant",)), dict[int, int]()
    for op in graph.order.tolist():
        if graph.types[op] == "Constant":
            stored[op] = size.get(op, 0)
        elif op in constant:
            stored[op] = sum(stored[source] for source in graph.predecessors[op])
    return stored


def tensor_bytes(graph: OpGraph) -> FloatArray:
    """Return the size of what each operation writes and anybody reads, a tensor with several readers once, `[N]`."""
    _, first = np.unique(np.stack([graph.edges[0], graph.ports[0]]), axis=1, return_index=True)
    total = np.bincount(graph.edges[0, first], weights=graph.out_bytes[first], minlength=len(graph))
    return np.asarray(total, dtype=np.float64)


def _traffic(graph: OpGraph, constant: Mapping[int, int]) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return bytes of constants read, of other tensors read, and written, `[N]` each."""
    weights, read = np.zeros(len(graph)), np.zeros(len(graph))
    written = tensor_bytes(graph)
    for edge, (source, op) in enumerate(graph.edges.T.tolist()):
        n_bytes = constant.get(source, int(graph.out_bytes[edge]))
        if graph.types[op] in _LOOK_UPS and graph.ports[1, edge] == 0:
            n_bytes = min(n_bytes, written[op])
        (weights if source in constant else read)[op] += n_bytes
    return weights, read, written


def _input_shapes(graph: OpGraph) -> list[dict[int, Shape]]:
    inputs: list[dict[int, Shape]] = [{} for _ in range(len(graph))]
    for (source, op), (port, slot) in zip(graph.edges.T.tolist(), graph.ports.T.tolist(), strict=True):
        inputs[op][slot] = graph.shapes[source][port]
    return inputs


def elements(shape: Shape) -> int:
    """Return the number of elements of a shape; unknown dimensions count as 1."""
    return math.prod(abs(d) for d in shape)


def _flops(graph: OpGraph, op: int, inputs: Inputs) -> float:
    kind, attributes = graph.types[op], graph.attributes[op]
    output = graph.shapes[op][0] if graph.shapes[op] else ()
    if kind in VIEWS or kind in _MOVES:
        return 0.0
    if kind in _RULES:
        try:
            return float(_RULES[kind](output, inputs, attributes))
        except (LookupError, ValueError):  # of unknown rank, or laid out in a way not known here
            return float(elements(output))
    if kind.startswith("Reduce"):
        return float(elements(inputs.get(0, output)))
    total = sum(elements(shape) for shape in graph.shapes[op])
    bodies = sum(int(text) for key, text in attributes.items() if key.startswith("body_") and key.endswith("_ops"))
    return float(max(bodies, 1) * _PER_ELEMENT.get(kind, 1) * total)


Rule = Callable[[Shape, Inputs, Mapping[str, str]], float]


def _convolution(kernel_port: int, first: int) -> Rule:
    """A dot product over the kernel's axes from `first` on, for each output."""
    return lambda output, inputs, _: 2 * elements(output) * elements(inputs[kernel_port][first:])


def _backprop(first: int) -> Rule:
    """A kernel's worth of products for each input element."""
    return lambda _, inputs, __: 2 * elements(inputs[0]) * elements(inputs[1][first:])


def _matmul(output: Shape, inputs: Inputs, attributes: Mapping[str, str]) -> float:
    left = inputs[0]
    row = attributes.get("transpose_a") == "true" and len(left) > 1
    return 2 * elements(output) * abs(left[-2 if row else -1])


def _einsum(_: Shape, inputs: Inputs, attributes: Mapping[str, str]) -> float:
    """One product for each combination of all labels; an ellipsis is not understood and raises."""
    terms = attributes["equation"].replace(" ", "").split("->")[0].split(",")
    sizes: dict[str, int] = {}
    for port, term in enumerate(terms):
        sizes.update(zip(term, map(abs, inputs[port]), strict=True))
    return 2 * math.prod(sizes.values())


def _attention(_: Shape, inputs: Inputs, __: Mapping[str, str]) -> float:
    """Scores, their softmax and the weighted sum: queries `[..., L, E]`, keys `[..., S, E]`, values `[..., S, V]`."""
    query, keys, values = inputs[0], inputs[1], inputs[2]
    return elements(query[:-1]) * abs(keys[-2]) * (2 * abs(query[-1]) + 5 + 2 * abs(values[-1]))


def _pool(output: Shape, _: Inputs, attributes: Mapping[str, str]) -> float:
    return elements(output) * math.prod(int(size) for size in attributes["kernel"].split(","))


def _recurrent(kind: str) -> Rule:
    """All weights once for each step of each sequence, plus about 30 operations a gate output."""
    ports, steps = _WEIGHT_PORTS[kind], 2 if kind.endswith("Sequence") else 1

    def rule(_: Shape, inputs: Inputs, __: Mapping[str, str]) -> float:
        weights = sum(elements(inputs[port]) for port in ports)
        gates = elements(inputs[ports[0]][:-1])
        return elements(inputs[0][:steps]) * (2 * weights + 30 * gates)

    return rule


def _sorting(_: Shape, inputs: Inputs, __: Mapping[str, str]) -> float:
    return elements(inputs[0]) * max(1.0, math.log2(elements(inputs[0])))


def _fourier(output: Shape, inputs: Inputs, _: Mapping[str, str]) -> float:
    n = max(elements(output), elements(inputs[0]))
    return 2.5 * n * max(1.0, math.log2(n))


def _whole_input(_: Shape, inputs: Inputs, __: Mapping[str, str]) -> float:
    return elements(inputs[0])


_RULES: Mapping[str, Rule] = {
    "Convolution": _convolution(1, 1), "BinaryConvolution": _convolution(1, 1), "GroupConvolution": _convolution(1, 2),
    "DeformableConvolution": _convolution(2, 1), "ConvolutionBackpropData": _backprop(1),
    "GroupConvolutionBackpropData": _backprop(2), "MatMul": _matmul, "Einsum": _einsum,
    "ScaledDotProductAttention": _attention, "MaxPool": _pool, "AvgPool": _pool,
    "AdaptiveAvgPool": _whole_input, "AdaptiveMaxPool": _whole_input, "ROIPooling": _whole_input,
    "TopK": _sorting, "NonMaxSuppression": _sorting, "MulticlassNms": _sorting, "MatrixNms": _sorting,
    "DFT": _fourier, "IDFT": _fourier, "RDFT": _fourier, "IRDFT": _fourier,
    **{kind: _recurrent(kind) for kind in _WEIGHT_PORTS},
}  # fmt: skip
"""Types whose arithmetic is not one figure an output element."""
