"""The OpenVINO backend: inputs and outputs of every type, and inputs that a user gives."""

from __future__ import annotations

import numpy as np
import openvino as ov
import pytest
from openvino import opset13 as ops

from ovplace.backends.openvino import Backend
from ovplace.core.measurement import Candidate, Job
from ovplace.errors import ModelError
from ovplace.ir.read import read_graph
from ovplace.testing import models
from tests.backends.two_cpus import PAIR, SPEC, chain, halves, whole


@pytest.mark.parametrize(
    "kind",
    ["f16", "bf16", "f32", "f64", "i8", "u8", "i16", "i32", "i64", "u32", "boolean", "i4", "u4", "f8e4m3", "f8e5m2"],
)
def test_every_element_type_of_inputs(saved, kind):
    path = saved(chain(getattr(ov.Type, kind), shape=(1, 3, 2, 5)))
    graph, backend = read_graph(path), Backend(Job(path, PAIR))
    measured = backend.measure([whole(graph), halves(graph)], SPEC)
    assert all(m.ok and m.max_error < 1e-6 for m in measured), [m.error_text for m in measured]
    assert np.isfinite(backend.reference[0]).all()


@pytest.mark.parametrize("kind", ["f16", "bf16", "f64", "f8e5m2", "i32", "i64", "boolean", "u8"])
def test_every_element_type_of_outputs(saved, kind):
    x = ops.parameter([2, 3], np.float32, name="x")
    path = saved(ov.Model([ops.result(ops.convert(ops.relu(x), getattr(ov.Type, kind)))], [x]))
    graph, backend = read_graph(path), Backend(Job(path, PAIR))
    reference = np.maximum(backend.inputs[0], 0)
    if kind in ("f16", "bf16", "f64"):
        np.testing.assert_allclose(backend.reference[0].astype(np.float32), reference, rtol=1e-2)
    m = backend.measure([whole(graph)], SPEC)[0]
    assert m.ok and m.max_error == 0, m.error_text


@pytest.mark.parametrize("name", ["two_parts", "unread_input"])
def test_inputs_and_outputs_that_openvino_reorders_keep_their_names(saved, name):
    backend = Backend(Job(saved(getattr(models, name)()), PAIR))
    (measured,) = backend.measure([Candidate("automatic", target="HETERO:CPU_A,CPU_B")], SPEC)
    assert measured.ok, measured.error_text
    assert measured.max_error < 1e-5


def test_a_users_inputs(saved, tmp_path):
    path = saved(chain())
    x = np.linspace(-1, 1, 16).reshape(2, 8)  # f64: converted
    np.savez(tmp_path / "x.npz", x=x, unused=1)
    backend = Backend(Job(path, PAIR, input_path=str(tmp_path / "x.npz")))
    np.testing.assert_allclose(backend.inputs[0], x.astype(np.float32))
    assert backend.measure([whole(read_graph(path))], SPEC)[0].max_error == 0


def torn_archive(path):
    np.savez(path, x=np.zeros((2, 8)))
    path.write_bytes(path.read_bytes()[:90])


def damaged_stream(path):
    np.savez_compressed(path, x=np.arange(200.0))
    data = bytearray(path.read_bytes())
    data[60:80] = bytes(20)
    path.write_bytes(data)


BAD_INPUTS = {
    "missing": (lambda p: None, "cannot read the inputs"),
    "no archive": (lambda p: p.write_text("hello"), "give an .npz"),
    "empty": (lambda p: p.write_bytes(b""), "give an .npz"),
    "torn": (torn_archive, "give an .npz"),
    "damaged": (damaged_stream, "give an .npz"),
    "objects": (lambda p: np.savez(p, x=np.array([{}])), "give an .npz"),
    "another name": (lambda p: np.savez(p, y=np.zeros((2, 8))), "no array for input 'x', it has y; give one"),
    "another shape": (
        lambda p: np.savez(p, x=np.zeros((8, 2))),
        r"is of shape \(8, 2\), .* \(2, 8\); give",
    ),
    "text": (lambda p: np.savez(p, x=np.full((2, 8), "a")), "holds <U1"),
}


@pytest.mark.parametrize("case", BAD_INPUTS)
def test_inputs_that_do_not_fit_are_one_clear_error(saved, tmp_path, case):
    write, words = BAD_INPUTS[case]
    target = tmp_path / "in.npz"
    write(target)
    with pytest.raises(ModelError, match=words) as caught:
        Backend(Job(saved(chain()), PAIR, input_path=str(target)))
    assert "\n" not in str(caught.value)


def test_a_model_that_rejects_the_values_of_its_inputs_says_how_to_give_others(saved, tmp_path):
    x, k = ops.parameter([2, 8], np.float32, name="x"), ops.parameter([], np.int64, name="k")
    top = ops.topk(ops.tanh(x), k, 1, "max", "value")
    path = saved(ov.Model([ops.result(top.output(0))], [x, k]))
    np.savez(tmp_path / "inputs.npz", x=np.zeros((2, 8), np.float32), k=np.array(-1))
    with pytest.raises(ModelError, match=r"does not run on the CPU in f32.*give them with -i"):
        Backend(Job(path, PAIR, input_path=str(tmp_path / "inputs.npz")))


def test_a_model_that_the_cpu_does_not_compile_says_what_to_change(saved):
    x = ops.parameter([2, 8], ov.Type.u1, name="x")
    path = saved(ov.Model([ops.result(ops.convert(x, "f32"))], [x]))
    with pytest.raises(ModelError, match=r"does not compile for the CPU in f32.*export it with operations and types"):
        Backend(Job(path, PAIR))


def test_a_single_array_file_is_no_archive(saved, tmp_path):
    np.save(tmp_path / "x.npy", np.zeros((2, 8)))
    with pytest.raises(ModelError, match=r"give an \.npz"):
        Backend(Job(saved(chain()), PAIR, input_path=str(tmp_path / "x.npy")))


def test_fractions_are_no_integers(saved, tmp_path):
    np.savez(tmp_path / "x.npz", x=np.full((2, 8), 0.5))
    with pytest.raises(ModelError, match="the model wants i64"):
        Backend(Job(saved(chain(np.int64)), PAIR, input_path=str(tmp_path / "x.npz")))
