"""Parts of models compute what the whole computes there."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import openvino as ov
import pytest
from openvino import opset13 as ops

from ovplace import zoo
from ovplace.errors import PlacementError
from ovplace.ir.affinity import op_names
from ovplace.ir.content_hash import content_hash
from ovplace.ir.inputs import as_array, input_name, random_inputs, read_inputs
from ovplace.ir.legal.groups import legal_groups
from ovplace.ir.parts.intermediate_tensors import IntermediateTensors
from ovplace.ir.parts.part import Feed, devices_of, extract, recorder
from ovplace.ir.parts.saved_part import save_part
from ovplace.ir.prepare.prepare import prepare
from ovplace.ir.read import op_graph
from ovplace.testing import models
from ovplace.testing.slow import slow_except

F32 = {"INFERENCE_PRECISION_HINT": "f32"}
FEWER = {"bert-base": {"layers": 2}}
"""The layers of a transformer are alike."""

CORE = ov.Core()


def prepared(model, folder):
    ov.save_model(model, folder / "source.xml", compress_to_fp16=False)
    prepare(folder / "source.xml", folder / "model.xml")
    return CORE.read_model(folder / "model.xml")


def run(model, tensors):
    request = CORE.compile_model(model, "CPU", F32).create_infer_request()
    for i, tensor in enumerate(tensors):
        request.set_input_tensor(i, tensor)
    request.infer()
    return [as_array(request.get_output_tensor(i)) for i in range(len(model.outputs))]


def sources(part):
    """Return the producer of each output of a part, as a feed of the whole model."""
    ports = [port.get_node().input_value(0) for port in part.model.outputs]
    return [Feed(port.get_node().get_friendly_name(), port.get_index()) for port in ports]


def check(model, groups, limit=1e-4):
    """Compare all outputs of all parts with the whole model's tensors; return how many were compared."""
    inputs = random_inputs(model, 0)
    feeds, compared = IntermediateTensors(CORE, model, inputs), 0
    parts = [extract(model, members.tolist()) for members in groups.members]
    feeds.record(parts)
    wanted = sorted({feed for part in parts for feed in sources(part)}, key=str)
    whole = run(recorder(model, wanted), feeds._inputs)[len(model.outputs) :]
    reference = dict(zip(wanted, whole, strict=True))
    for part in parts:
        for feed, output in zip(sources(part), run(part.model, feeds.tensors(part, 0)), strict=True):
            expected = reference[feed].astype(np.float64)
            scale = max(1.0, float(np.abs(expected[np.isfinite(expected)]).max(initial=0)))
            np.testing.assert_allclose(output.astype(np.float64), expected, rtol=0, atol=limit * scale)
            compared += 1
    return compared


@pytest.mark.parametrize("name", slow_except(["lstm"], zoo.names()))
def test_each_legal_group_of_each_recipe(name, tmp_path):
    recipe = zoo.recipe(name)
    model = prepared(recipe.build(replace(recipe.SMALL, **FEWER.get(name, {}))), tmp_path)
    before = content_hash(model), len(model.get_ops())
    groups = legal_groups(op_graph(model))
    assert check(model, groups) >= groups.n_groups
    assert (content_hash(model), len(model.get_ops())) == before


@pytest.mark.parametrize("name", [name for name in models.TINY if name != "loop"])
def test_each_legal_group_of_tiny_models(name, tmp_path):
    model = prepared(models.TINY[name](), tmp_path)
    assert check(model, legal_groups(op_graph(model)))


def test_a_planted_difference_is_seen(tmp_path, monkeypatch):
    model = prepared(models.residual(), tmp_path)
    real = IntermediateTensors.tensors
    monkeypatch.setattr(
        IntermediateTensors,
        "tensors",
        lambda self, part, seed: [ov.Tensor(t.data * 1.1) for t in real(self, part, seed)],
    )
    with pytest.raises(AssertionError):
        check(model, legal_groups(op_graph(model)))


def test_every_operation_of_a_part_has_a_device(tmp_path):
    model = prepared(models.int8_weights(), tmp_path)
    names = op_names(model)
    for members in legal_groups(op_graph(model)).members:
        part = extract(model, members.tolist())
        table = devices_of(part.model, {names[i]: "CPU" for i in members})
        assert set(table) == {op.get_friendly_name() for op in part.model.get_ops()}
        assert set(table.values()) == {"CPU"}


def test_without_room_the_inputs_are_random(tmp_path):
    model = prepared(models.residual(), tmp_path)
    feeds = IntermediateTensors(CORE, model, random_inputs(model, 0), limit_bytes=0)
    parts = [extract(model, members.tolist()) for members in legal_groups(op_graph(model)).members]
    feeds.record(parts)
    for part in parts:
        assert [t.get_shape() for t in feeds.tensors(part, 0)] == [port.get_shape() for port in part.model.inputs]


@pytest.mark.parametrize("part", [(10_000,), (-1,)])
def test_operations_that_are_not_there_are_an_error(tmp_path, part):
    with pytest.raises(PlacementError, match="the model has"):
        extract(prepared(models.residual(), tmp_path), part)


def test_a_part_nobody_reads_is_an_error(tmp_path):
    model = prepared(models.residual(), tmp_path)
    constant = op_graph(model).types.index("Constant")
    with pytest.raises(PlacementError, match="nobody reads"):
        extract(model, (constant,))


def test_a_saved_part_keeps_inputs_of_any_name(tmp_path):
    x, y = (ops.parameter([2], np.float32, name=name) for name in ("file", "past/0"))
    ov.save_model(ov.Model([ops.result(ops.add(x, y, name="sum"), name="out")], [x, y]), tmp_path / "model.xml")
    model = CORE.read_model(tmp_path / "model.xml")
    known = dict.fromkeys(op_names(model), "CPU")
    save_part(tmp_path / "model.xml", range(len(known)), known, (tmp_path / "part.xml", tmp_path / "part.npz"), "", 0)
    part = CORE.read_model(tmp_path / "part.xml")
    for port, given in zip(model.inputs, random_inputs(model, 0), strict=True):
        names = [input_name(own) for own in part.inputs]
        stored = read_inputs(part, tmp_path / "part.npz")[names.index(input_name(port))]
        np.testing.assert_array_equal(stored, given)
