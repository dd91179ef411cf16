"""`ovplace explain` says what would run where and why, for any model and device text."""

import json

import numpy as np
import openvino as ov
import pytest
from openvino import opset13 as ops

import ovplace as api
from ovplace.devices.emulated_gpu import why_unavailable
from ovplace.testing import models

DEVICES = "HETERO:CPU_A=CPU{INFERENCE_PRECISION_HINT:f32},CPU{INFERENCE_PRECISION_HINT:f32}"
emulating = pytest.mark.skipif(bool(why_unavailable()), reason="no emulated GPU")


def data(done):
    assert done.code == 0, done.err
    return json.loads(done.out)


def test_three_lines(ovplace, tiny):
    lines = ovplace("explain", tiny, "-d", DEVICES).out.splitlines()
    assert lines == [
        "HETERO:CPU_A,CPU: of 10 operations, 10 on CPU_A, none on CPU; 1 submodel.",
        "Why: HETERO gives each operation to the first of its devices that supports it, whatever that costs; "
        "CPU_A supports all, CPU supports all.",
        "Cost: nothing is copied between devices.",
    ]


def test_a_model_of_constants_has_no_submodel(ovplace, tmp_path):
    ov.save_model(
        ov.Model([ops.result(ops.constant(np.ones(3, np.float32)))], []), tmp_path / "m.xml", compress_to_fp16=False
    )
    done = ovplace("explain", tmp_path / "m.xml", "-d", DEVICES)
    assert "none on CPU; no submodel, for nothing is computed.\n" in done.out


def test_one_device(ovplace, tiny):
    found = data(ovplace("explain", tiny, "-d", "CPU", "--json"))
    assert (found["rule"], found["target"], found["submodels"]) == ("one device", "CPU", ["CPU"])


def test_affinities_of_a_file(ovplace, tiny, tmp_path):
    placement = api.explain(tiny, device=DEVICES).placement
    table = {name: "CPU" if name == "conv1" else "CPU_A" for name in placement}
    (tmp_path / "p.json").write_text(json.dumps(table))
    done = ovplace("explain", tiny, "-d", DEVICES, "--placement", tmp_path / "p.json")
    assert "9 on CPU_A, 1 on CPU; 3 submodels: CPU_A CPU CPU_A." in done.out
    assert "each operation goes where its affinity says" in done.out
    assert "Cost: 2.0 KiB are copied between devices in each inference." in done.out


def test_an_affinity_for_another_device_is_refused(ovplace, tiny, tmp_path):
    table = dict.fromkeys(api.explain(tiny, device="CPU").placement, "GPU.7")
    (tmp_path / "p.json").write_text(json.dumps(table))
    done = ovplace("explain", tiny, "-d", "CPU", "--placement", tmp_path / "p.json")
    assert done.code == 1
    assert "uses device 'GPU.7', named are CPU" in done.err


def test_a_simulated_machine_says_so_and_names_what_a_device_lacks(ovplace):
    done = ovplace("explain", "models/demo.xml", "--machine", "core-ultra", "-d", "HETERO:NPU,CPU")
    assert "19 submodels: 17 on NPU (simulated), 2 on CPU (simulated)." in done.out
    assert "; NPU (simulated) does not support 1 Softmax, 1 Sin, CPU (simulated) supports all." in done.out


def test_an_affinity_that_its_device_refuses_is_named():
    found = api.explain("models/demo.xml", machine="core-ultra", device="NPU,CPU")
    on_npu = api.explain(
        "models/demo.xml", machine="core-ultra", device="NPU,CPU", placement=dict.fromkeys(found.placement, "NPU")
    )
    assert len(on_npu.refused) == 2
    assert not found.refused


def test_what_does_not_compile_is_no_matter_of_a_wrong_kernel(ovplace, tmp_path):
    found = api.explain("models/demo.xml", machine="core-ultra", device="NPU,CPU")
    (tmp_path / "npu.json").write_text(json.dumps(dict.fromkeys(found.placement, "NPU")))
    options = "-d", "NPU,CPU", "--machine", "core-ultra", "--placement", tmp_path / "npu.json"
    said = ovplace("explain", "models/demo.xml", *options).out.splitlines()[-1]
    assert said.startswith("This will not compile: the devices given do not support 2 operations, such as '")


def moved(source, kind):
    """Return the placement of a model with its last operation of a type on the second device."""
    ops = ov.Core().read_model(source).get_ordered_ops()
    last = [op.get_friendly_name() for op in ops if op.get_type_name() == kind][-1]
    return dict(api.explain(source, device=DEVICES).placement) | {last: "CPU"}


@pytest.mark.parametrize(
    ("model", "kind", "why"),
    [
        (models.kv_cache, "Assign", "read and write one state, which submodels do not share; put them, and"),
        (models.inner_output, "Relu", "it cuts the output of 'inner' off; put the operations that read it on the same"),
    ],
)
def test_what_hetero_cannot_run_is_said(ovplace, tmp_path, model, kind, why):
    ov.save_model(model(), tmp_path / "model.xml", compress_to_fp16=False)
    (tmp_path / "p.json").write_text(json.dumps(moved(tmp_path / "model.xml", kind)))
    said = ovplace("explain", tmp_path / "model.xml", "-d", DEVICES, "--placement", tmp_path / "p.json").out
    assert said.splitlines()[-1].startswith("This will not work: ")
    assert why in said


@emulating
def test_an_operation_that_the_emulated_gpu_computes_wrongly_is_called_that(ovplace, tmp_path):
    ov.save_model(models.nonzero(), tmp_path / "model.xml")
    said = ovplace("explain", tmp_path / "model.xml", "-d", "HETERO:GPU,CPU", "--emulate-gpu").out.splitlines()
    assert said[-1].startswith("ovplace never makes this placement: the emulated GPU has no correct kernel for '")
    assert said[-2].endswith("; GPU (emulated) does not support, or computes wrongly, 1 NonZero, CPU supports all.")


@emulating
def test_hetero_is_asked_what_it_does(inverse):
    found = api.explain(inverse, device="HETERO:GPU,CPU", emulate_gpu=True)
    assert found.devices[0].unsupported == {"Inverse": 1}
    assert (found.submodels, found.placement["middle"]) == (("GPU", "CPU", "GPU"), "CPU")


@emulating
@pytest.mark.slow
def test_what_is_explained_is_what_runs(ovplace, inverse):
    arguments = (inverse, "-d", "HETERO:GPU,CPU", "--emulate-gpu")
    explained = data(ovplace("explain", *arguments, "--json"))["submodels"]
    measured = data(ovplace("measure", *arguments, "--json"))["measured"][-1]
    assert measured["name"] == "HETERO:GPU,CPU (automatic)"
    assert [name.removesuffix(".0") for name in measured["submodels"]] == explained
