"""The graph that is read is the model's, and its hash sees what matters and nothing else."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import openvino as ov
import pytest
from openvino import opset13 as ops

from ovplace.ir.content_hash import computation_hash, content_hash
from ovplace.ir.read import op_graph, read_graph
from ovplace.testing.models import TINY


def small(weight: float = 1.0, pad: int = 1, name: str = "conv") -> ov.Model:
    x = ops.parameter([1, 3, 8, 8], np.float32, name="x")
    weights = np.ones((4, 3, 3, 3), np.float32)
    weights[0, 0, 0, 0] = weight
    y = ops.convolution(x, ops.constant(weights, name="w"), [1, 1], [pad, pad], [1, 1], [1, 1], name=name)
    return ov.Model([ops.result(ops.multiply(y, y, name="square"), name="out")], [x], "small")


def looped(stride: int = 1, scale: float = 1.0) -> ov.Model:
    x = ops.parameter([1, 4, 8], np.float32, name="x")
    row = ops.parameter([1, 1, 8], np.float32)
    end = ops.result(ops.multiply(row, ops.constant(np.float32(scale))))
    loop = ops.tensor_iterator()
    loop.set_function(ov.Model([end], [row], "body"))
    first, last = (0, -1) if stride > 0 else (-1, 0)
    loop.set_sliced_input(row, x.output(0), first, stride, 1, last, 1)
    out = ops.result(loop.get_concatenated_slices(end.output(0), 0, 1, 1, -1, 1), name="out")
    loop.set_friendly_name("loop")
    return ov.Model([out], [x], "looped")


def test_operations_edges_and_sizes() -> None:
    graph = op_graph(small())
    x, w, conv, square, out = (graph.index[name] for name in ("x", "w", "conv", "square", "out"))
    edges = {tuple(edge): size for edge, size in zip(graph.edges.T.tolist(), graph.out_bytes.tolist(), strict=True)}
    assert edges == {(x, conv): 768, (w, conv): 432, (conv, square): 1024, (square, out): 1024}
    assert graph.in_degree[square] == 2
    assert graph.ports[:, graph.edges[1] == square].tolist() == [[0, 0], [0, 1]]
    assert graph.shapes[conv] == ((1, 4, 8, 8),)
    assert graph.element_types[conv] == ("f32",)
    assert graph.attributes[conv]["pads_begin"] == "1,1"
    assert graph.attributes[conv]["auto_pad"] == "explicit"


@pytest.mark.parametrize(("kind", "size"), [("i4", 5), ("u1", 2), ("f16", 18), ("boolean", 9), ("i64", 72)])
def test_sizes_of_every_width(kind: str, size: int) -> None:
    constant = ov.op.Constant(getattr(ov.Type, kind), ov.Shape([3, 3]), [1] * 9)
    graph = op_graph(ov.Model([ops.result(ops.convert(constant, "f32"))], [], "m"))
    assert size in graph.out_bytes.tolist()


@pytest.mark.parametrize("name", TINY)
def test_the_graph_is_the_models(name: str) -> None:
    model = TINY[name]()
    for i, op in enumerate(model.get_ordered_ops()):
        op.set_friendly_name(f"op{i}")
    graph = op_graph(model)
    for i, op in enumerate(model.get_ordered_ops()):
        sources = [(int(port.get_node().get_friendly_name()[2:]), port.get_index()) for port in op.input_values()]
        into = graph.edges[1] == i
        by_slot = np.argsort(graph.ports[1, into])
        assert list(zip(graph.edges[0, into][by_slot], graph.ports[0, into][by_slot], strict=True)) == sources
        assert (graph.types[i], len(graph.shapes[i])) == (op.get_type_name(), op.get_output_size())


def test_dynamic_dimensions() -> None:
    x = ops.parameter(ov.PartialShape("?,4"), np.float32, name="x")
    graph = op_graph(ov.Model([ops.result(x)], [x], "m"))
    assert graph.shapes[graph.index["x"]] == ((-1, 4),)
    assert graph.out_bytes.tolist() == [16]


def test_bodies_are_summarised() -> None:
    graph = op_graph(looped())
    types = "Constant,Multiply,Parameter,Result"
    assert graph.attributes[graph.index["loop"]] == {"body_0_ops": "4", "body_0_types": types}
    assert graph.all_types == {"TensorIterator", *types.split(",")}


def test_the_hash_ignores_files_and_notes(tmp_path: Path) -> None:
    noted = small()
    noted.set_rt_info("text", ["ovplace", "note"])
    noted.set_friendly_name("another")
    for op in noted.get_ops():
        op.get_rt_info()["affinity"] = "CPU"
    ov.save_model(noted, tmp_path / "a.xml", compress_to_fp16=False)
    assert content_hash(small()) == content_hash(noted) == read_graph(tmp_path / "a.xml").content_hash


@pytest.mark.parametrize("name", TINY)
def test_the_hash_survives_saving(tmp_path: Path, name: str) -> None:
    ov.save_model(TINY[name](), tmp_path / "a.xml", compress_to_fp16=False)
    model = ov.Core().read_model(tmp_path / "a.xml")
    ov.save_model(model, tmp_path / "b.xml", compress_to_fp16=False)
    assert content_hash(model) == read_graph(tmp_path / "b.xml").content_hash


@pytest.mark.parametrize("name", TINY)
def test_the_hash_of_what_is_computed_survives_saving(tmp_path: Path, name: str) -> None:
    model = TINY[name]()
    ov.save_model(model, tmp_path / "a.xml", compress_to_fp16=False)
    assert computation_hash(model) == computation_hash(ov.Core().read_model(tmp_path / "a.xml"))


def test_the_hash_sees_every_change() -> None:
    models = (
        *(small(), small(weight=1.0000001), small(pad=2), small(name="other")),
        *(looped(), looped(stride=-1), looped(scale=2.0)),
    )
    assert len({content_hash(model) for model in models}) == len(models)


def test_the_hash_of_what_is_computed_ignores_names() -> None:
    assert computation_hash(small()) == computation_hash(small(name="other"))
    models = (small(), small(weight=1.0000001), small(pad=2), looped(), looped(stride=-1), looped(scale=2.0))
    assert len({computation_hash(model) for model in models}) == len(models)


@pytest.mark.parametrize("kind", [np.float32, np.int64])
def test_constants_without_elements_have_a_hash(kind: type) -> None:
    def model(length: int) -> ov.Model:
        x = ops.parameter([1, 2, 3], kind, name="x")
        past = ops.constant(np.zeros((1, length, 3), kind), name="past")
        return ov.Model([ops.result(ops.concat([past, x], 1, name="all"), name="out")], [x], "cached")

    assert len({content_hash(model(length)) for length in (0, 0, 1)}) == 2
