"""Formats of other frameworks: read, made static, prepared alike every time, placed on two devices."""

import re
from pathlib import Path

import numpy as np
import onnx
import openvino as ov
import pytest
from onnx import TensorProto, helper, numpy_helper
from openvino import opset13 as ops

from ovplace.backends.openvino import Backend
from ovplace.core.device import Device
from ovplace.core.measurement import Candidate, Job, MeasureSpec
from ovplace.core.problem import Problem
from ovplace.errors import ModelError, UsageError
from ovplace.ir.legal.groups import legal_groups
from ovplace.ir.prepare.prepare import prepare
from ovplace.ir.read import read_graph
from ovplace.seeds import generator
from ovplace.testing.placements import random_assignments

DATA = Path(__file__).parent / "data"
FORMATS = {"small.tflite": "", "small.pb": "", "small.pdmodel": "[1,3,32,32]"}
F32 = {"INFERENCE_PRECISION_HINT": "f32"}
PAIR = (Device("CPU_A", "CPU", F32), Device("CPU_B", "CPU", F32))


@pytest.mark.parametrize("name", FORMATS)
def test_prepared_alike_every_time(name, tmp_path):
    for attempt in ("first", "second"):
        prepare(DATA / name, tmp_path / f"{attempt}.xml", FORMATS[name])
    first, second = read_graph(tmp_path / "first.xml"), read_graph(tmp_path / "second.xml")
    assert first.names == second.names
    assert first.content_hash == second.content_hash


@pytest.mark.parametrize("name", FORMATS)
def test_runs_however_it_is_placed(name, tmp_path):
    prepare(DATA / name, tmp_path / "model.xml", FORMATS[name])
    graph, backend = read_graph(tmp_path / "model.xml"), Backend(Job(str(tmp_path / "model.xml"), PAIR))
    problem = Problem(graph, legal_groups(graph), PAIR, backend.supported(), np.empty((len(graph), 0)))
    once = MeasureSpec(warmup=0, blocks=1, repeats=1, min_time_ms=0)
    for placement in random_assignments(problem, 5, generator(0, name)):
        [measured] = backend.measure([Candidate("random", placement)], once)
        assert measured.ok, measured.error_text
        assert measured.max_error < 1e-4


def test_a_dynamic_batch_asks_for_a_shape(tmp_path):
    with pytest.raises(ModelError, match=r"--shape 'img\[\?,3,32,32\]'"):
        prepare(DATA / "small.pdmodel", tmp_path / "model.xml")


def _of_unknown_rank(path: Path) -> Path:
    """Write a convolution whose input says nothing of its shape."""
    weight = numpy_helper.from_array(np.ones((4, 3, 3, 3), dtype=np.float32), "weight")
    graph = helper.make_graph(
        [helper.make_node("Conv", ["image", "weight"], ["out"])],
        "unknown",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, None)],
        [helper.make_tensor_value_info("out", TensorProto.FLOAT, None)],
        [weight],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 15)]), path)
    return path


def test_external_data_that_is_missing_is_to_be_put_beside_the_model(tmp_path):
    path = _of_unknown_rank(tmp_path / "m.onnx")
    onnx.save(onnx.load(path), path, save_as_external_data=True, location="m.weights", size_threshold=0)
    (tmp_path / "m.weights").unlink()
    with pytest.raises(ModelError, match=r"'m\.weights' is missing.*; put the one that belongs to 'm\.onnx' beside"):
        prepare(path, tmp_path / "model.xml")


def test_the_file_of_a_saved_model_points_to_its_folder(tmp_path):
    path = tmp_path / "saved_model.pb"
    path.write_bytes(b"\x08\x01\x12\x02\x0a\x00")
    with pytest.raises(ModelError, match=re.escape(f"give the folder '{tmp_path}'")):
        prepare(path, tmp_path / "model.xml")


@pytest.mark.parametrize("shape", ["image[1,3,16,16]", "[1,3,16,16]"])
def test_shapes_are_given_before_operations_are_converted(shape, tmp_path):
    prepare(_of_unknown_rank(tmp_path / "unknown.onnx"), tmp_path / "model.xml", shape)
    assert (1, 4, 14, 14) in {shape for shapes in read_graph(tmp_path / "model.xml").shapes for shape in shapes}


def test_operations_that_need_a_shape_say_so(tmp_path):
    with pytest.raises(ModelError, match=r"cannot convert: Conv-\S+ \(.*rank.*\); give fixed shapes by --shape"):
        prepare(_of_unknown_rank(tmp_path / "unknown.onnx"), tmp_path / "model.xml")


def test_a_shape_for_no_input_of_an_unconverted_model(tmp_path):
    with pytest.raises(UsageError, match="names 'picture', no input of the model; there are image"):
        prepare(_of_unknown_rank(tmp_path / "unknown.onnx"), tmp_path / "model.xml", "picture[1,3,16,16]")


def test_branches_may_read_constants_of_the_model(tmp_path):
    branches = [
        helper.make_graph(
            [helper.make_node(kind, ["image", "shared"], [kind])],
            kind,
            [],
            [helper.make_tensor_value_info(kind, TensorProto.FLOAT, [2])],
        )
        for kind in ("Mul", "Sub")
    ]
    graph = helper.make_graph(
        [
            helper.make_node("Add", ["image", "shared"], ["sum"]),
            helper.make_node("If", ["which"], ["chosen"], then_branch=branches[0], else_branch=branches[1]),
        ],
        "branches",
        [
            helper.make_tensor_value_info("image", TensorProto.FLOAT, [2]),
            helper.make_tensor_value_info("which", TensorProto.BOOL, []),
        ],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2]) for name in ("sum", "chosen")],
        [numpy_helper.from_array(np.array([2, 3], dtype=np.float32), "shared")],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 15)]), tmp_path / "branches.onnx")
    prepare(tmp_path / "branches.onnx", tmp_path / "model.xml")
    run = ov.Core().compile_model(tmp_path / "model.xml", "CPU")
    for which, chosen in ((True, [2, 6]), (False, [-1, -1])):
        answer = run({"image": np.array([1, 2], dtype=np.float32), "which": np.array(which)})
        np.testing.assert_allclose(answer["chosen"], chosen)
        np.testing.assert_allclose(answer["sum"], [3, 5])


@pytest.mark.parametrize(
    ("part", "other"), [('version="opset1"', 'version="extension"'), ('type="ReLU"', 'type="Novel"')]
)
def test_operations_of_an_extension_or_a_newer_openvino_are_named(part, other, tmp_path):
    x = ops.parameter([1, 4], np.float32, name="x")
    ov.save_model(ov.Model([ops.relu(x, name="act")], [x], "m"), tmp_path / "m.xml")
    text = (tmp_path / "m.xml").read_text(encoding="utf-8")
    layer = text.index('name="act"')
    (tmp_path / "m.xml").write_text(text[:layer] + text[layer:].replace(part, other, 1), encoding="utf-8")
    with pytest.raises(ModelError, match=r"m\.xml' has operations that OpenVINO cannot read: .*; export it without"):
        prepare(tmp_path / "m.xml", tmp_path / "model.xml")


@pytest.mark.parametrize("name", [b"node", b"image", b"result"])
def test_names_that_are_not_utf_8_are_refused(name, tmp_path):
    graph = helper.make_graph(
        [helper.make_node("Relu", ["image"], ["hidden"], name="node"), helper.make_node("Neg", ["hidden"], ["result"])],
        "graph",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, [2])],
        [helper.make_tensor_value_info("result", TensorProto.FLOAT, [2])],
    )
    content = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 15)]).SerializeToString()
    (tmp_path / "m.onnx").write_bytes(content.replace(name, name[:-1] + b"\xe9"))
    with pytest.raises(ModelError, match=r"m\.onnx' has a name that is not UTF-8: b'\w+\\xe9"):
        prepare(tmp_path / "m.onnx", tmp_path / "model.xml")


def test_a_state_whose_name_is_not_utf_8_is_refused(tmp_path):
    x = ops.parameter([1], np.float32, name="x")
    read = ops.read_value(x, "state", ov.Type.f32, [1])
    ov.save_model(ov.Model([ops.result(read)], [ops.assign(read, "state")], [x], "m"), tmp_path / "m.xml")
    content = (tmp_path / "m.xml").read_bytes()
    (tmp_path / "m.xml").write_bytes(content.replace(b'"state"', b'"stat\xe9"'))
    with pytest.raises(ModelError, match=r"m\.xml' has a name that is not UTF-8: b'stat\\xe9'"):
        prepare(tmp_path / "m.xml", tmp_path / "model.xml")
