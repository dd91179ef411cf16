"""The rules are over the nodes of the ONNX file, however OpenVINO calls its operations."""

import json
import re

import numpy as np
import onnx
import openvino as ov
import pytest
from onnx import TensorProto, helper

from ovplace.core.device import Device
from ovplace.core.result.parts import ModelSummary
from ovplace.exporters._onnx_nodes import read_nodes
from ovplace.exporters.onnxruntime import KEY, Config, Exporter
from ovplace.ir.placed_model import write_placed
from ovplace.ir.prepare.prepare import prepare
from ovplace.store.run_folder import RunFolder
from ovplace.testing.results import run_result
from tests.exporters.test_onnxruntime import longest

GPU_TENSORS = {"t1", "t2"}
"""What is computed on the GPU."""

NODES = [
    ("MatMul", ["x", "w"], ["t0"], "/enc/mm"),
    ("LayerNormalization", ["t0", "s"], ["t1"], "/enc/ln"),  # becomes MVN_<n> and /enc/ln
    ("Identity", ["t1"], ["t2"], "/enc/id"),  # becomes nothing
    ("Constant", [], ["c"], "/enc/constant"),
    ("Mul", ["w", "c"], ["wc"], "/dec/w"),  # becomes a constant
    ("Gemm", ["t2", "wc", "s"], ["t3"], "/dec/gemm"),
    ("Add", ["t3", "s"], ["t4"], ""),
    ("Softmax", ["t4"], ["y"], "/enc/head/Softmax"),  # becomes y
]


@pytest.fixture
def file(tmp_path):
    """Return an ONNX file most of whose nodes are called otherwise by OpenVINO."""
    nodes = [helper.make_node(*node[:3], name=node[3]) for node in NODES]
    nodes[3].attribute.append(helper.make_attribute("value", helper.make_tensor("c", TensorProto.FLOAT, [], [2.0])))
    weights = [
        helper.make_tensor("w", TensorProto.FLOAT, [4, 4], np.eye(4)),
        helper.make_tensor("s", 1, [4], [1.0] * 4),
    ]
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 4]) for name in ("x", "y", "t3")]
    graph = helper.make_graph(nodes, "g", ends[:1], ends[1:], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, tmp_path / "given.onnx")
    return tmp_path / "given.onnx"


@pytest.fixture
def run(file, tmp_path):
    """Return a finished run that was given the file; its Results, which are no nodes, are on the GPU."""
    folder = tmp_path / "run"
    folder.mkdir()
    prepare(file, folder / "placed.xml")
    ops = ov.Core().read_model(folder / "placed.xml").get_ordered_ops()
    names = {op.get_friendly_name(): {name for port in op.outputs() for name in port.get_names()} for op in ops}
    table = {name: "GPU" if tensors & GPU_TENSORS or "sink" in name else "CPU" for name, tensors in names.items()}
    write_placed(folder / "placed.xml", folder, table, [Device("CPU", "CPU"), Device("GPU", "GPU")], {})
    RunFolder(folder).write_result(run_result(model=ModelSummary(str(file), "0" * 32, 10, 4)))
    return folder


def rules_of(folder):
    """Return the device of each part of a name."""
    value = json.loads(Exporter(Config()).text(folder))[KEY]
    found = {}
    for rule in value.split("; "):
        device, _, parts = rule.removesuffix(")").partition("(")
        found |= dict.fromkeys(parts.split(", "), device)
    return found


def test_each_node_is_sent_where_the_placement_has_its_tensor(run):
    rules = rules_of(run)
    for _, _, (tensor,), name in NODES:
        if name and name != "/enc/constant":
            assert longest(rules, name) == ("gpu" if tensor in GPU_TENSORS else "cpu"), name
    assert not any(part in "MVN_1" or part in "Multiply_1" for part in rules)


def test_nodes_without_a_rule_are_said(run):
    (unnamed,) = Exporter(Config()).limits(run)
    assert unnamed == "1 of 7 nodes have no name that a rule could match; ONNX Runtime places them"


def test_nodes_that_became_nothing_are_said(run, file):
    model = onnx.load(file)
    for name, known_as in (("/dec/unread", "/dec/unread"), ("", "nowhere")):
        model.graph.node.append(helper.make_node("Relu", ["t3"], ["nowhere"], name=name))
        onnx.save(model, file)
        line = Exporter(Config()).limits(run)[0]
        assert line.startswith(f"1 of 8 nodes are no operation of the placed model, such as '{known_as}'; ONNX Runtime")
        model.graph.node.pop()


def test_a_name_on_two_devices_is_in_no_rule(run, file):
    model = onnx.load(file)
    model.graph.node[0].name = "/enc/ln"
    onnx.save(model, file)
    assert "/enc/ln" not in rules_of(run)
    _, ambiguous = Exporter(Config()).limits(run)
    assert ambiguous.startswith("2 of 7 names cannot be written in a rule, such as '/enc/ln'")


@pytest.mark.parametrize(
    ("break_it", "words"),
    [
        (lambda run, file: file.unlink(), r"nodes of '.*given\.onnx' cannot be read: No such file"),
        (lambda run, file: file.write_bytes(file.read_bytes()[:200]), "cannot be read"),
        (lambda run, file: file.write_bytes(b"\x3f"), "unknown type 7"),
        (lambda run, file: (run / "result.json").unlink(), "the run names no ONNX file"),
    ],
)
def test_without_the_file_openvinos_own_names_are_in_no_rule(run, file, break_it, words):
    break_it(run, file)
    why, made_up = Exporter(Config()).limits(run)
    assert re.search(words, why)
    assert why.endswith("the rules use the names of OpenVINO's operations, which nodes may not have")
    assert "names are OpenVINO's own, such as 'MVN_" in made_up
    rules = rules_of(run)
    assert longest(rules, "/enc/ln") == "gpu"
    assert not set(rules) & {"M", "y", "t"}


def test_nodes_are_read_as_onnx_reads_them(file):
    nodes = [node for node in onnx.load(file).graph.node if node.op_type != "Constant"]
    assert [(node.name, list(node.outputs)) for node in read_nodes(file)] == [(n.name, list(n.output)) for n in nodes]


@pytest.mark.parametrize("field", [b"\xa5\x06" + bytes(4), b"\xa1\x06" + bytes(8), b"\xa0\x06\x80\x01"])
def test_fields_of_later_versions_are_passed_over(file, field):
    nodes = read_nodes(file)
    file.write_bytes(field + file.read_bytes() + field)
    assert read_nodes(file) == nodes
