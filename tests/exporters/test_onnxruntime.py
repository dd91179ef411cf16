"""ONNX Runtime's own reader takes the rules, and the longest part of a name decides."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ovplace.core.device import Device
from ovplace.exporters.onnxruntime import KEY, Config, Exporter, shortest_rules
from ovplace.testing.models import TINY
from tests.exporters.conftest import place, placed, run_python

READER = """
import sys, json
import onnx, onnxruntime
from onnx import TensorProto, helper
names = ["conv0", "conv1", "sum"]
nodes = [helper.make_node("Relu", [f"t{i}"], [f"t{i + 1}"], name=name) for i, name in enumerate(names)]
ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1]) for name in ("t0", "t3")]
graph = helper.make_graph(nodes, "g", ends[:1], ends[1:])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
options = onnxruntime.SessionOptions()
options.log_severity_level = 1
for key, value in json.load(open(sys.argv[1])).items():
    options.add_session_config_entry(key, value)
onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
"""


def longest(rules, name):
    """Return the device that ONNX Runtime's SubstringMatcher finds: of the longest part, the first of equals."""
    found = sorted((part for part in rules if part in name), key=lambda part: len(part.encode()), reverse=True)
    return rules[found[0]] if found else None


@given(st.dictionaries(st.text("abé/", min_size=1, max_size=6), st.sampled_from(["cpu", "gpu", "npu"]), max_size=12))
def test_each_name_gets_its_device(device_of):
    rules = shortest_rules(device_of)
    assert {name: longest(rules, name) for name in device_of} == device_of


def test_the_longest_part_is_that_of_most_bytes():
    device_of = {"abcéé": "CPU", "abd": "GPU", "éé": "GPU", "éx": "CPU"}
    assert {name: longest(shortest_rules(device_of), name) for name in device_of} == device_of


def test_names_that_begin_alike_share_a_rule():
    device_of = {f"layers.{i}/mlp/{j}": "cpu" if i < 4 else "gpu" for i in range(8) for j in range(50)}
    assert len(shortest_rules(device_of)) == 8


def test_a_rule_is_no_longer_than_it_must_be():
    device_of = {"conv1": "CPU", "conv10": "GPU", "relu": "CPU", "relu_2": "CPU"}
    assert shortest_rules(device_of) == {"conv1": "CPU", "conv10": "GPU", "r": "CPU"}


def table(folder):
    """Return the placement of a folder."""
    return json.loads((folder / "placement.json").read_text(encoding="utf-8"))


def test_the_session_takes_the_rules(plain, tmp_path):
    pytest.importorskip("onnxruntime")
    (path,) = Exporter(Config()).write(plain, tmp_path / "rules.json")
    value = json.loads(path.read_text())[KEY]
    cpu, gpu = re.fullmatch(r"cpu\((.*)\); gpu:1\((.*)\)", value).groups()
    assert gpu == "conv1"
    assert all(part.strip() == part and part for part in cpu.split(", "))
    assert all(any(part in name for name in table(plain)) for part in cpu.split(", "))
    done = run_python("-c", READER, path)
    assert done.returncode == 0, done.stderr
    n_parts = value.count("(") + value.count(",")
    assert f"Parsed {n_parts} name-based layering rules" in done.stderr


def test_what_cannot_be_said_is_said(nasty, emulated, plain):
    assert "{0}" in nasty.name
    lines = Exporter(Config()).limits(nasty)
    assert any("registers no variants" in line for line in lines)
    why, made_up = Exporter(Config()).limits(plain)
    assert why.startswith("the run names no ONNX file; ")
    assert made_up.startswith("1 of 5 names are OpenVINO's own, such as 'Relu_")
    assert any("was the emulated GPU" in line for line in Exporter(Config()).limits(emulated))


def test_names_with_marks_of_the_syntax_are_counted(tmp_path):
    folder = placed(tmp_path / "run", [Device("CPU", "CPU"), Device("GPU", "GPU")], "GPU", " (a, b)")
    *_, line = Exporter(Config()).limits(folder)
    assert line.startswith("5 of 5 names cannot be written")
    assert json.loads(Exporter(Config()).text(folder)) == {KEY: ""}


def test_too_long_a_text_is_said(monkeypatch, tmp_path):
    model = TINY["residual"]()
    for op in model.get_ops():
        op.set_friendly_name(f"é{op.get_friendly_name()}")
    folder = place(model, tmp_path / "run", [Device("CPU", "CPU"), Device("GPU", "GPU")], "GPU", ("éconv1", "éw1"))
    length = len(json.loads(Exporter(Config()).text(folder))[KEY].encode())
    monkeypatch.setattr("ovplace.exporters.onnxruntime.MAX_BYTES", length - 1)
    *others, line = Exporter(Config()).limits(folder)
    assert line == f"the rules have {length} bytes, but ONNX Runtime takes at most {length - 1}"
    monkeypatch.setattr("ovplace.exporters.onnxruntime.MAX_BYTES", length)
    assert Exporter(Config()).limits(folder) == tuple(others)


def test_a_name_that_begins_another_has_the_shorter_rule():
    assert shortest_rules({"conv1": "CPU", "conv10": "GPU"}) == {"conv1": "CPU", "conv10": "GPU"}


def test_names_may_share_a_long_beginning():
    one, other = "a" * 2000 + "b", "a" * 2000 + "c"
    assert shortest_rules({one: "CPU", other: "GPU"}) == {one: "CPU", other: "GPU"}
