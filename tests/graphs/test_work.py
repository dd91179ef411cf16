"""Work of operations: known totals of published models, each rule against a count by hand, what costs nothing."""

from __future__ import annotations

import numpy as np
import openvino as ov
import pytest
from openvino import opset13 as opset

from ovplace import zoo
from ovplace.graphs.work import expected_ms, work
from ovplace.ir.read import op_graph


def of(*outputs, inputs):
    """Return the graph of a model and its work by operation name."""
    graph = op_graph(ov.Model([opset.result(output) for output in outputs], list(inputs), "x"))
    return graph, work(graph)


def flops(node, *inputs):
    graph, found = of(node, inputs=inputs)
    op = node.get_node() if isinstance(node, ov.Output) else node
    return found.flops[graph.index[op.get_friendly_name()]]


def data(*shape, kind=np.float32):
    return opset.parameter(list(shape), kind)


def weight(*shape, kind=np.float32):
    return opset.constant(np.random.default_rng(0).integers(1, 9, shape).astype(kind))


@pytest.mark.parametrize(
    ("name", "options", "gflop"),
    [
        ("resnet-50", {}, 8.2),
        ("inception-v3", {"height": 299, "width": 299}, 11.4),
        ("mobilenet-v2", {}, 0.61),
        ("bert-base", {"tokens": 128}, 22.4),
    ],
)
def test_totals_of_published_models(name, options, gflop):
    recipe = zoo.recipe(name)
    found = work(op_graph(recipe.build(recipe.Config(**options))))
    assert found.flops.sum() / 1e9 == pytest.approx(gflop, rel=0.02)


def test_expected_times_follow_arithmetic_or_traffic_and_views_take_none():
    image = data(1, 64, 100, 100)
    convolution = opset.convolution(image, weight(64, 64, 3, 3), [1, 1], [1, 1], [1, 1], [1, 1])
    added = opset.add(convolution, image)
    flat = opset.reshape(added, opset.constant(np.array([1, -1])), False)
    graph, found = of(flat, inputs=[image])
    ms = expected_ms(graph)
    conv, add, view = (ms[graph.index[node.get_friendly_name()]] for node in (convolution, added, flat))
    assert conv == pytest.approx(found.flops.max() / 5e7, rel=0.01)
    assert add == pytest.approx(3 * 64 * 1e4 * 4 / 1e7, rel=0.01)  # reads two tensors and writes one
    assert view == 0 and ms.min() >= 0


@pytest.mark.parametrize("name", zoo.names())
def test_every_recipe_has_finite_work(name):
    recipe = zoo.recipe(name)
    graph = op_graph(recipe.build(recipe.SMALL))
    found = work(graph)
    for part in (found.flops, found.weight_bytes, found.read_bytes, found.write_bytes, found.kernels):
        assert part.shape == (len(graph),)
        assert np.isfinite(part).all()
        assert (part >= 0).all()
    assert found.flops.sum() > 0


def test_convolutions():
    x, same = data(2, 6, 10, 10), ([1, 1], [1, 1], [1, 1], [1, 1])
    assert flops(opset.convolution(x, weight(8, 6, 3, 3), *same), x) == 2 * 2 * 8 * 100 * 6 * 9
    assert flops(opset.group_convolution(x, weight(3, 4, 2, 3, 3), *same), x) == 2 * 2 * 12 * 100 * 2 * 9
    strides = ([2, 2], [0, 0], [0, 0], [1, 1])
    assert flops(opset.convolution(x, weight(8, 6, 2, 2), *strides), x) == 2 * 2 * 8 * 25 * 6 * 4
    assert flops(opset.convolution_backprop_data(x, weight(6, 5, 2, 2), [2, 2]), x) == 2 * (2 * 6 * 100) * 5 * 4
    grouped = opset.group_convolution_backprop_data(x, weight(2, 3, 5, 2, 2), [2, 2])
    assert flops(grouped, x) == 2 * (2 * 6 * 100) * 5 * 4


@pytest.mark.parametrize("transposed", [False, True])
def test_products(transposed):
    a = data(4, 7, 3) if transposed else data(4, 3, 7)
    assert flops(opset.matmul(a, weight(7, 5), transposed, False), a) == 2 * 4 * 3 * 5 * 7
    assert flops(opset.matmul(a, weight(5, 7), transposed, True), a) == 2 * 4 * 3 * 5 * 7
    x, y = data(4, 3, 7), data(4, 7, 5)
    assert flops(opset.einsum([x, y], "bij,bjk->bik"), x, y) == 2 * 4 * 3 * 7 * 5


def test_vectors_and_attention():
    x, y = data(7), data(7)
    assert flops(opset.matmul(x, y, True, False), x, y) == 2 * 7
    q, k, v = data(1, 2, 8, 16), data(1, 2, 10, 16), data(1, 2, 10, 4)
    assert flops(opset.scaled_dot_product_attention(q, k, v), q, k, v) == 2 * 8 * 10 * (2 * 16 + 5 + 2 * 4)


def test_pools_and_reductions():
    x = data(1, 3, 8, 8)
    pool = opset.max_pool(x, [2, 2], [1, 1], [0, 0], [0, 0], [2, 2])
    assert flops(pool.output(0), x) == 3 * 16 * 4
    assert flops(opset.reduce_mean(x, np.array([2, 3]), True), x) == 3 * 64


def test_a_recurrent_layer_reads_its_weights_each_step():
    x, state = data(2, 5, 3), data(2, 1, 4)
    length = opset.constant(np.array([5, 5]))
    layer = opset.gru_sequence(x, state, length, weight(1, 12, 3), weight(1, 12, 4), weight(1, 12), 4, "forward")
    assert flops(layer.output(0), x, state) == 2 * 5 * (2 * (12 * 3 + 12 * 4) + 30 * 12)


def test_unknown_types_count_as_element_wise_and_views_as_nothing():
    x = data(4, 5)
    assert flops(opset.floor(x), x) == 20
    assert flops(opset.reshape(x, np.array([20]), False), x) == 0
    _, found = of(opset.reshape(x, np.array([20]), False), inputs=[x])
    assert found.kernels.sum() == found.read_bytes.sum() == 0


def test_unknown_dimensions_count_as_one():
    x = opset.parameter(ov.PartialShape([-1, 5]), np.float32)
    assert flops(opset.matmul(x, weight(5, 6), False, False), x) == 2 * 6 * 5
    of_any_rank = opset.parameter(ov.PartialShape.dynamic(), np.float32)
    assert flops(opset.relu(of_any_rank), of_any_rank) == 1


@pytest.mark.parametrize(("kind", "size"), [(np.float32, 4), (np.float16, 2), (np.int8, 1)])
def test_weights_are_read_as_stored_and_their_chains_cost_nothing(kind, size):
    x = data(1, 5)
    decompressed = opset.multiply(opset.convert(weight(6, 5, kind=kind), np.float32), opset.constant(np.float32(0.5)))
    product = opset.matmul(x, decompressed, False, True)
    graph, found = of(product, inputs=[x])
    op = graph.index[product.get_friendly_name()]
    assert found.weight_bytes[op] == 30 * size + 4
    assert (found.read_bytes[op], found.write_bytes[op]) == (20, 24)
    assert found.kernels.sum() == 1
    assert found.weight_bytes.sum() == found.weight_bytes[op]


def test_a_look_up_does_not_read_the_table():
    ids = data(1, 2, kind=np.int64)
    rows = opset.gather(weight(1000, 8), ids, opset.constant(np.int64(0)))
    graph, found = of(rows, inputs=[ids])
    op = graph.index[rows.get_friendly_name()]
    assert found.weight_bytes[op] == 2 * 8 * 4 + 8  # the rows and the axis
    assert found.read_bytes[op] == 16
    assert found.write_bytes[op] == 64


def test_a_tensor_with_several_readers_is_written_once():
    x = data(1, 8)
    base = opset.relu(x)
    graph, found = of(opset.exp(base), opset.abs(base), inputs=[x])
    assert found.write_bytes[graph.index[base.get_friendly_name()]] == 32
