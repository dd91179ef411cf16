"""Prepared models compute the same, keep their weights narrow and always get the same names."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import onnx
import openvino as ov
import pytest
from onnx import TensorProto, helper
from openvino import opset13 as ops

import ovplace.ir
from ovplace.errors import ModelError, UsageError
from ovplace.ir.inputs import random_inputs
from ovplace.ir.prepare.prepare import prepare
from ovplace.ir.read import read_graph
from ovplace.testing.models import TINY

LIGHT = Path(onnx.__file__).parent / "backend/test/data/light"
F32 = {"INFERENCE_PRECISION_HINT": "f32"}


@pytest.fixture(scope="module")
def core() -> ov.Core:
    return ov.Core()


def save(model: ov.Model, path: Path, *, fp16: bool = False) -> Path:
    ov.save_model(model, path, compress_to_fp16=fp16)
    return path


def outputs(core: ov.Core, path: Path) -> list[np.ndarray]:
    model = core.read_model(path)
    request = core.compile_model(model, "CPU", F32).create_infer_request()
    return [np.array(value) for seed in range(2) for value in request.infer(random_inputs(model, seed)).to_tuple()]


def dense(bias: bool = True) -> ov.Model:
    rng = np.random.default_rng(0)
    x = ops.parameter([2, 64], np.float32, name="x")
    x.output(0).set_names({"x"})
    y = ops.matmul(x, ops.constant(rng.normal(size=(64, 128)).astype(np.float32), name="w"), False, False, name="mm")
    y = ops.add(y, ops.constant(rng.normal(size=(1, 128)).astype(np.float32), name="b"), name="add") if bias else y
    return ov.Model([ops.result(y, name="out")], [x], "dense")


def flexible() -> ov.Model:
    x = ops.parameter(ov.PartialShape("?,6"), np.float32, name="x")
    x.output(0).set_names({"x"})
    mask = ops.parameter(ov.PartialShape("?"), np.float32, name="mask_op")
    mask.output(0).set_names({"mask"})
    size = ops.gather(ops.shape_of(x, name="size"), np.array([0]), np.array(0))
    target = ops.concat([size, ops.constant(np.array([2, 3]))], 0)
    return ov.Model([ops.reshape(x, target, False, name="reshape"), ops.relu(mask)], [x, mask], "flexible")


@pytest.mark.parametrize("name", TINY)
def test_outputs_and_their_names_stay(core: ov.Core, tmp_path: Path, name: str) -> None:
    source, target = save(TINY[name](), tmp_path / "a.xml"), tmp_path / "b.xml"
    prepare(source, target, core=core)
    for got, expected in zip(outputs(core, target), outputs(core, source), strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-6)
    before, after = core.read_model(source), core.read_model(target)
    assert [port.get_names() for port in after.inputs] == [port.get_names() for port in before.inputs]
    assert [port.get_names() for port in after.outputs] == [port.get_names() for port in before.outputs]


@pytest.mark.parametrize("name", TINY)
def test_preparing_twice_changes_nothing(core: ov.Core, tmp_path: Path, name: str) -> None:
    save(TINY[name](), tmp_path / "a.xml")
    prepare(tmp_path / "a.xml", tmp_path / "b.xml", core=core)
    prepare(tmp_path / "b.xml", tmp_path / "c.xml", core=core)
    assert read_graph(tmp_path / "b.xml").content_hash == read_graph(tmp_path / "c.xml").content_hash


def test_shape_chains_fold(core: ov.Core, tmp_path: Path) -> None:
    prepare(save(TINY["shape_chain"](), tmp_path / "a.xml"), tmp_path / "b.xml", core=core)
    graph = read_graph(tmp_path / "b.xml")
    assert not {"ShapeOf", "Gather", "Concat"} & set(graph.types)
    assert graph.types[graph.index["target"]] == "Constant"


def test_f16_weights_stay_f16(core: ov.Core, tmp_path: Path) -> None:
    source, target = save(dense(), tmp_path / "a.xml", fp16=True), tmp_path / "b.xml"
    prepare(source, target, core=core)
    sizes = [path.with_suffix(".bin").stat().st_size for path in (source, target)]
    assert sizes[1] == pytest.approx(sizes[0], rel=0.02)
    assert Counter(read_graph(target).types) == Counter(read_graph(source).types)


def test_int8_weights_stay_int8(core: ov.Core, tmp_path: Path) -> None:
    prepare(save(TINY["int8_weights"](), tmp_path / "a.xml"), tmp_path / "b.xml", core=core)
    graph = read_graph(tmp_path / "b.xml")
    assert graph.element_types[graph.index["w0/i8"]] == ("i8",)
    assert graph.types.count("Convert") == 4


@pytest.mark.parametrize("kind", ["i4", "u4", "bf16", "f8e4m3"])
def test_other_narrow_weights_stay_narrow(core: ov.Core, tmp_path: Path, kind: str) -> None:
    x = ops.parameter([2, 16], np.float32, name="x")
    narrow = ov.op.Constant(getattr(ov.Type, kind), ov.Shape([16, 16]), [1] * 256)
    narrow.set_friendly_name("narrow")
    scaled = ops.multiply(ops.convert(narrow, "f32"), ops.constant(np.full((1, 16), 0.5, np.float32)))
    model = ov.Model([ops.matmul(x, scaled, False, False)], [x], "m")
    prepare(save(model, tmp_path / "a.xml"), tmp_path / "b.xml", core=core)
    graph = read_graph(tmp_path / "b.xml")
    assert graph.element_types[graph.index["narrow"]] == (kind,)


def test_a_large_generated_constant_stays_generated(core: ov.Core, tmp_path: Path) -> None:
    x = ops.parameter([600, 600], np.float32, name="x")
    filled = ops.broadcast(ops.constant(np.float32(0.1)), ops.constant(np.array([600, 600])), name="filled")
    prepare(save(ov.Model([ops.add(x, filled)], [x], "m"), tmp_path / "a.xml"), tmp_path / "b.xml", core=core)
    assert (tmp_path / "b.bin").stat().st_size < 1000


def test_every_reader_gets_its_own_constant(core: ov.Core, tmp_path: Path) -> None:
    x = ops.parameter([8, 8], np.float32, name="x")
    table = ops.constant(np.random.default_rng(0).normal(size=(8, 8)).astype(np.float32), name="table")
    model = ov.Model([ops.matmul(ops.relu(ops.matmul(x, table, False, False)), table, False, True)], [x], "m")
    prepare(save(model, tmp_path / "a.xml"), tmp_path / "b.xml", core=core)
    graph = read_graph(tmp_path / "b.xml")
    assert {"table", "table_1"} <= set(graph.names)
    assert (tmp_path / "b.bin").stat().st_size == (tmp_path / "a.bin").stat().st_size


def test_names_are_unique_and_survive(core: ov.Core, tmp_path: Path) -> None:
    x = ops.parameter([2], np.float32, name="same")
    model = ov.Model([ops.result(ops.relu(ops.exp(x, name="same"), name="same_1"), name="same")], [x], "m")
    prepare(save(model, tmp_path / "a.xml"), tmp_path / "b.xml", core=core)
    first, second = read_graph(tmp_path / "b.xml"), read_graph(tmp_path / "b.xml")
    assert first.names == second.names
    assert all(first.names)
    assert first.index.keys() >= {"same", "same_1"}


@pytest.mark.parametrize("name", ["light_squeezenet", "light_shufflenet"])
def test_the_same_file_gets_the_same_names_in_any_process(tmp_path: Path, name: str) -> None:
    def hash_of(target: str) -> str:
        return read_graph(tmp_path / target).content_hash

    prepare(LIGHT / f"{name}.onnx", tmp_path / "a.xml")
    ov.Core().read_model(LIGHT / "light_zfnet512.onnx")
    prepare(LIGHT / f"{name}.onnx", tmp_path / "b.xml")
    code = "import sys, pathlib, ovplace.ir.prepare.prepare as p; p.prepare(*map(pathlib.Path, sys.argv[1:]))"
    files = [str(LIGHT / f"{name}.onnx"), str(tmp_path / "c.xml")]
    environment = {"PYTHONPATH": str(Path(ovplace.ir.__file__).parents[2])}
    subprocess.run([sys.executable, "-c", code, *files], check=True, env=environment)
    assert hash_of("a.xml") == hash_of("b.xml") == hash_of("c.xml")


def test_shapes_make_inputs_static(core: ov.Core, tmp_path: Path) -> None:
    source = save(flexible(), tmp_path / "a.xml")
    prepare(source, tmp_path / "b.xml", "x[4,6],mask_op[5]", core=core)
    graph = read_graph(tmp_path / "b.xml")
    assert graph.shapes[graph.index["reshape"]] == ((4, 2, 3),)
    assert "ShapeOf" not in graph.types


@pytest.mark.parametrize(
    ("shape", "kind", "told"),
    [
        ("", ModelError, r"--shape 'x\[\?,6\],mask\[\?\]'"),
        ("x[4,6]", ModelError, r"--shape 'x\[4,6\],mask\[\?\]'"),
        ("y[4,6],mask[2]", UsageError, r"the model has no input 'y'; its inputs are .*x\[\?,6\], mask\[\?\]"),
        ("x[4,6,1],mask[2]", UsageError, "'x' 3 dimensions, but it has 2"),
        ("x[4,5],mask[2]", ModelError, r"does not accept the shapes x\[4,5\],mask\[2\]"),
        ("x[?,6]", UsageError, "fixed number"),
    ],
)
def test_shapes_that_do_not_fit_are_told(
    core: ov.Core, tmp_path: Path, shape: str, kind: type[Exception], told: str
) -> None:
    source = save(flexible(), tmp_path / "a.xml")
    with pytest.raises(kind, match=told) as error:
        prepare(source, tmp_path / "b.xml", shape, core=core)
    assert "\n" not in str(error.value)


def test_a_model_is_not_prepared_onto_itself(core: ov.Core, tmp_path: Path) -> None:
    source = save(dense(), tmp_path / "a.xml")
    with pytest.raises(UsageError, match="overwrite"):
        prepare(source, tmp_path / "../" / tmp_path.name / "a.xml", core=core)


def break_file(kind: str, folder: Path) -> Path:
    """Return a path that `open_model` must refuse."""
    model = folder / "m.xml"
    if kind == "missing":
        return model
    if kind == "suffix":
        (folder / "m.txt").write_text("x")
        return folder / "m.txt"
    if kind == "folder":
        return folder
    if kind == "no rule":
        nodes = [helper.make_node("Foo", ["x"], ["y"], domain="my.own")]
        values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1]) for name in "xy"]
        imports = [helper.make_opsetid("", 18), helper.make_opsetid("my.own", 1)]
        onnx.save(
            helper.make_model(helper.make_graph(nodes, "g", values[:1], values[1:]), opset_imports=imports),
            folder / "m.onnx",
        )
        return folder / "m.onnx"
    if kind.startswith("garbage"):
        path = folder / f"m{kind.removeprefix('garbage ')}"
        path.write_text("no model at all")
        return path
    save(dense(), model)
    weights = model.with_suffix(".bin")
    if kind == "no weights":
        weights.unlink()
    elif kind == "short weights":
        weights.write_bytes(weights.read_bytes()[:-100])
    elif kind == "half":
        model.write_text(model.read_text()[: model.stat().st_size // 2])
    return model


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        ("missing", "does not exist"),
        ("suffix", "unknown suffix '.txt'"),
        ("folder", "without saved_model.pb"),
        ("no rule", "my.own.Foo"),
        ("garbage .xml", "is no IR model"),
        ("garbage .onnx", "is no ONNX model"),
        ("garbage .tflite", "is no TFLITE model"),
        ("garbage .pdmodel", "cannot read the model"),
        ("garbage .pb", "cannot read the model"),
        ("no weights", r"m\.bin' does not exist"),
        ("short weights", r"m\.bin' has only 33180 bytes"),
        ("half", "cannot read the model"),
    ],
)
def test_what_is_no_model_is_told_in_one_line(core: ov.Core, tmp_path: Path, kind: str, told: str) -> None:
    with pytest.raises(ModelError, match=told) as error:
        prepare(break_file(kind, tmp_path), tmp_path / "out.xml", core=core)
    assert "\n" not in str(error.value)


def test_what_is_no_weights_file_is_told_in_one_line(core: ov.Core, tmp_path: Path) -> None:
    weights = break_file("no weights", tmp_path).with_suffix(".bin")
    weights.symlink_to(weights.name)
    with pytest.raises(ModelError, match=r"cannot look up the weights file '.*m\.bin': Too many levels of symbolic"):
        prepare(tmp_path / "m.xml", tmp_path / "out.xml", core=core)
    weights.unlink()
    weights.mkdir()
    with pytest.raises(ModelError, match=r"m\.bin' is a folder; put the one that belongs to 'm\.xml' beside it"):
        prepare(tmp_path / "m.xml", tmp_path / "out.xml", core=core)


def test_an_operation_called_like_weights_is_no_reason_to_doubt_the_weights_file(core: ov.Core, tmp_path: Path) -> None:
    x = ops.parameter([1, 3, 8, 8], np.float32, name="x")
    kernel = ops.constant(np.ones((4, 3, 3, 3), np.float32), name="weights")
    y = ops.convolution(x, kernel, [1, 1], [0, 0], [0, 0], [1, 1])
    ov.save_model(ov.Model([ops.result(y)], [x], "m"), tmp_path / "m.xml")
    text = (tmp_path / "m.xml").read_text(encoding="utf-8").replace('strides="1, 1"', 'strides="1, 1, 1"')
    (tmp_path / "m.xml").write_text(text, encoding="utf-8")
    with pytest.raises(ModelError, match=r"cannot read the model '.*': Strides should be defined.*; export it anew"):
        prepare(tmp_path / "m.xml", tmp_path / "out.xml", core=core)


def test_shapes_that_no_memory_holds_are_one_clear_error(core: ov.Core, tmp_path: Path) -> None:
    x = ops.parameter(ov.PartialShape("?,?"), np.float32, name="x")
    ov.save_model(ov.Model([ops.result(ops.relu(x))], [x], "m"), tmp_path / "m.xml")
    with pytest.raises(ModelError, match=r"m\.xml' cannot be prepared: .*; give smaller shapes by --shape"):
        prepare(tmp_path / "m.xml", tmp_path / "out.xml", "x[999999999,999999999]", core=core)


def test_a_pipe_is_no_model(core: ov.Core, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "m.xml")
    with pytest.raises(ModelError, match="is not a regular file"):
        prepare(tmp_path / "m.xml", tmp_path / "out.xml", core=core)


def test_a_model_without_outputs_is_refused(core: ov.Core, tmp_path: Path) -> None:
    value = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1])
    onnx.save(helper.make_model(helper.make_graph([], "g", [value], [])), tmp_path / "m.onnx")
    with pytest.raises(ModelError, match="has no outputs"):
        prepare(tmp_path / "m.onnx", tmp_path / "out.xml", core=core)
