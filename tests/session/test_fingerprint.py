"""Which files a model consists of."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from ovplace.session.fingerprint import fingerprint


def two_layers():
    rng = np.random.default_rng(0)
    weights = [numpy_helper.from_array(rng.random((8, 8)).astype(np.float32), f"w{i}") for i in range(2)]
    nodes = [helper.make_node("MatMul", ["x", "w0"], ["y"]), helper.make_node("MatMul", ["y", "w1"], ["z"])]
    x, z = ([helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 8])] for name in ("x", "z"))
    return helper.make_model(helper.make_graph(nodes, "two layers", x, z, weights))


@pytest.mark.parametrize("together", [True, False])
@pytest.mark.parametrize("name", ["w.data", "a name of many characters " * 8])
@pytest.mark.parametrize("suffix", [".onnx", ".ONNX"])
def test_external_weights_of_onnx_count(tmp_path, together, name, suffix):
    model = tmp_path / f"model{suffix}"
    external = {"save_as_external_data": True, "all_tensors_to_one_file": together, "size_threshold": 0}
    onnx.save_model(two_layers(), model, location=name if together else None, **external)
    before = fingerprint(model)
    assert fingerprint(model) == before
    (tmp_path / "something else").write_text("w.data")
    assert fingerprint(model) == before
    weights = tmp_path / (name if together else "w1")
    weights.write_bytes(weights.read_bytes()[:-1] + b"\1")
    assert fingerprint(model) != before


def test_a_long_text_called_location_is_no_file(tmp_path):
    """As in the metadata of a model, which are entries with a key like those that name files of weights."""
    model = two_layers()
    helper.set_model_props(model, {"location": "not a file " * 40})
    onnx.save_model(model, tmp_path / "model.onnx")
    assert fingerprint(tmp_path / "model.onnx")


@pytest.mark.parametrize(
    "content",
    [b"", b"\x0a\x08location\x12", b"\x0a\x08location\x12\xff\xff\xff\xff\xff", b"\x0a\x08location\x12\x03\x00\xff/"],
)
def test_broken_files_have_a_fingerprint(tmp_path, content):
    (tmp_path / "model.onnx").write_bytes(content)
    assert fingerprint(tmp_path / "model.onnx")


@pytest.mark.parametrize(
    ("model", "weights"),
    [("model.xml", "model.bin"), ("MODEL.XML", "MODEL.bin"), ("model.pdmodel", "model.pdiparams")],
)
def test_a_model_counts_with_its_weights(tmp_path, model, weights):
    (tmp_path / model).write_text("<net/>")
    (tmp_path / weights).write_bytes(b"1")
    before = fingerprint(tmp_path / model)
    (tmp_path / weights).write_bytes(b"2")
    assert fingerprint(tmp_path / model) != before


def test_a_saved_model_is_the_same_whatever_else_is_in_its_folder(tmp_path):
    (tmp_path / "variables").mkdir()
    (tmp_path / "saved_model.pb").write_bytes(b"graph")
    (weights := tmp_path / "variables" / "variables.data-00000-of-00001").write_bytes(b"1")
    before = fingerprint(tmp_path)
    (tmp_path / "runs" / "mine").mkdir(parents=True)
    (tmp_path / "runs" / "mine" / "run.db").write_bytes(b"of a search in this folder")
    assert fingerprint(tmp_path) == before
    weights.write_bytes(b"2")
    assert fingerprint(tmp_path) != before
