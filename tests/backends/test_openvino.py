"""The OpenVINO backend with the real runtime: aliases of the CPU, and once the emulated GPU in a process of its own."""

from __future__ import annotations

from itertools import count
from pathlib import Path

import numpy as np
import openvino as ov
import pytest
from openvino import opset13 as ops

from ovplace.backends.openvino import Backend
from ovplace.backends.openvino import backend as backend_module
from ovplace.core.accuracy import NOT_FINITE
from ovplace.core.device import Device
from ovplace.core.measurement import Candidate, ErrorKind, Job
from ovplace.core.placement import Placement
from ovplace.devices import emulated_gpu
from ovplace.ir.legal.groups import legal_groups
from ovplace.ir.read import read_graph
from ovplace.ir.timing.once import time_once
from ovplace.measuring.children import WorkerSpec
from ovplace.measuring.process_pool import ProcessPool
from ovplace.testing import models
from tests.backends.two_cpus import F32, NAMES, PAIR, SPEC, chain, halves, whole


def test_a_plugin_that_cannot_answer_for_the_whole_model_is_asked_about_parts(saved):
    path = saved(chain())
    graph, backend = read_graph(path), Backend(Job(path, PAIR))
    backend._core = Choking(backend._core, "tanh1")
    supported = backend.supported()
    assert [graph.names[op] for op in np.flatnonzero(~supported.all(axis=1))] == ["tanh1"]


class Choking:
    """A core whose plugins choke on an operation when they are asked what they support."""

    def __init__(self, core, name):
        self.core, self.name = core, name

    def query_model(self, model, device):
        if any(op.get_friendly_name() == self.name for op in model.get_ops()):
            raise RuntimeError("no such kernel")
        return self.core.query_model(model, device)


def test_samples_submodels_and_facts(saved):
    path = saved(chain())
    graph, backend = read_graph(path), Backend(Job(path, PAIR))
    split = halves(graph)
    measured = backend.measure([whole(graph), split], SPEC)
    assert all(m.ok for m in measured), [m.error_text for m in measured]
    assert measured[0].submodels == ("CPU_A",)
    assert list(measured[1].submodels) == split.placement.submodels(graph) == ["CPU_A", "CPU_B"]
    assert all(m.compile_ms > 0 and m.first_ms > 0 and m.blocks == (2, 2) for m in measured)
    assert all(o.max_abs == 0 for m in measured for o in m.outputs)
    assert set(measured[1].facts["execution_devices"].split(",")) == set(NAMES)
    assert backend.supported().all()
    assert backend.facts()["openvino"] == ov.get_version()


def test_outputs_without_a_finite_value_are_a_fact(saved):
    assert NOT_FINITE not in Backend(Job(saved(chain()), PAIR)).facts()
    x = ops.parameter([2, 3], np.float32, name="x")
    lost = ops.log(ops.negative(ops.abs(x)))
    lost.output(0).set_names({"lost"})
    path = saved(ov.Model([ops.relu(x), lost], [x], "lost"))
    backend = Backend(Job(path, PAIR))
    assert backend.facts()[NOT_FINITE] == "lost"
    assert backend.measure([halves(read_graph(path))], SPEC)[0].ok


def test_compiled_models_are_kept_and_forgotten(saved, monkeypatch):
    path = saved(chain())
    graph, backend = read_graph(path), Backend(Job(path, PAIR, options={"keep_compiled": 1}))
    backend.measure([whole(graph)], SPEC)
    monkeypatch.setattr(backend_module, "perf_counter", count().__next__)  # what is timed takes a second
    asked = whole(graph), whole(graph, "CPU_B"), whole(graph)
    spent_ms = [backend.measure([candidate], SPEC)[0].facts["compiling_ms"] for candidate in asked]
    assert spent_ms == ["1000.000", "2000.000", "2000.000"]  # looking for parts, and compiling what is not kept


def test_a_planted_difference_is_seen(saved):
    path = saved(chain())
    graph, backend = read_graph(path), Backend(Job(path, PAIR))
    backend.reference = [backend.reference[0] + np.float32(0.25)]
    output = backend.measure([whole(graph)], SPEC)[0].outputs[0]
    assert output.max_abs == pytest.approx(0.25, abs=1e-6)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_outputs_that_are_not_finite_where_they_should_be_fail(saved, value):
    path = saved(chain())
    graph, backend = read_graph(path), Backend(Job(path, PAIR))
    backend.reference[0][0, 0] = value
    measured = backend.measure([whole(graph)], SPEC)[0]
    assert measured.error == ErrorKind.OUTPUT_MISMATCH
    assert measured.submodels


def test_a_lower_precision_is_seen_in_the_outputs(saved):
    cpu = ov.Core().get_property("CPU", "OPTIMIZATION_CAPABILITIES")
    if "BF16" not in cpu:
        pytest.skip("this CPU has no bf16")
    path = saved(models.residual())
    graph = read_graph(path)
    devices = (Device("CPU_BF16", "CPU", {"INFERENCE_PRECISION_HINT": "bf16"}), Device("CPU_F32", "CPU", F32))
    names = ("CPU_BF16", "CPU_F32")
    measured = Backend(Job(path, devices)).measure(
        [whole(graph, n, names) for n in names] + [halves(graph, names)], SPEC
    )
    assert measured[0].max_error > 1e-4 > measured[1].max_error
    assert measured[2].max_error > measured[1].max_error


@pytest.mark.parametrize("name", ["kv_cache", "initialised_state"])
def test_state_starts_anew(saved, name):
    path = saved(models.TINY[name]())
    graph, backend = read_graph(path), Backend(Job(path, PAIR, options={"keep_compiled": 9}))
    candidate = whole(graph)
    for _ in range(2):
        assert backend.measure([candidate], SPEC)[0].max_error < 1e-5
    request = backend._kept[candidate.hash].request
    outputs = []
    for reset in (False, True):
        if reset:
            backend._timer.start_state(request)
        request.infer()
        outputs.append(np.array(request.get_output_tensor(0).data))
    assert not np.allclose(outputs[0], backend.reference[0])
    np.testing.assert_allclose(outputs[1], backend.reference[0], atol=1e-6)


def test_inputs_that_fit_the_first_state_only_are_measured_with_it(saved):
    path = saved(models.prompt())
    graph = read_graph(path)
    measured = Backend(Job(path, PAIR)).measure([whole(graph), whole(graph, "CPU_B")], SPEC)
    assert [(m.ok, m.error_text) for m in measured] == [(True, "")] * 2
    assert time_once(Path(path)).inferring_s > 0


def test_a_stateful_model_in_two_parts(saved):
    path = saved(models.kv_cache())
    graph, backend = read_graph(path), Backend(Job(path, PAIR))
    groups = legal_groups(graph)
    for group in range(groups.n_groups):
        placement = groups.lift((np.arange(groups.n_groups) == group).astype(int), NAMES)
        measured = backend.measure([Candidate("x", placement)], SPEC)[0]
        assert measured.ok and measured.max_error < 1e-5, measured.error_text


def test_errors_of_one_candidate_are_its_own(saved):
    path = saved(chain())
    graph, backend = read_graph(path), Backend(Job(path, PAIR))
    late = halves(graph).placement.device_of
    strange = Candidate("strange", Placement(late, ("CPU_A", "CPU_UNKNOWN")))
    short = Candidate("short", Placement(late[:-1], NAMES))
    measured = backend.measure([strange, whole(graph), short], SPEC)
    assert [m.error for m in measured] == [ErrorKind.COMPILE, None, ErrorKind.COMPILE]
    assert "CPU_UNKNOWN" in measured[0].error_text
    assert not set(backend._kept) & {strange.hash, short.hash}


def test_what_openvino_chooses_by_itself(saved):
    path = saved(chain())
    backend = Backend(Job(path, PAIR))
    targets = ["HETERO:CPU_A,CPU_B", "HETERO:CPU_B,CPU_A", "AUTO:CPU"]
    measured = backend.measure([Candidate(t, target=t) for t in targets], SPEC)
    assert all(m.ok for m in measured), [m.error_text for m in measured]
    assert [m.submodels for m in measured] == [("CPU_A",), ("CPU_B",), ()]


def test_the_emulated_gpu_beside_the_cpu(saved):
    if problem := emulated_gpu.why_unavailable():
        pytest.skip(problem)
    path = saved(models.residual())
    graph, names = read_graph(path), ("GPU", "CPU")
    job = Job(path, (emulated_gpu.emulated_device(), Device("CPU", "CPU", F32)))
    pool = ProcessPool(WorkerSpec("openvino", job))
    try:
        assert pool.ask("supported").shape == (len(graph), 2)
        automatic = Candidate("HETERO", target="HETERO:GPU,CPU")
        measured = pool.measure([whole(graph, n, names) for n in names] + [halves(graph, names), automatic], SPEC)
    finally:
        pool.close()
    assert all(m.ok for m in measured), [m.error_text for m in measured]
    assert [m.submodels for m in measured[:3]] == [("GPU",), ("CPU",), ("GPU", "CPU")]
    assert max(m.max_error for m in measured) < 1e-3


def test_random_numbers_are_compared_after_as_many_inferences(saved):
    if problem := emulated_gpu.why_unavailable():
        pytest.skip(problem)
    x = ops.parameter([2, 8], np.float32, name="x")
    drawn = ops.random_uniform(
        ops.constant(np.int64([2, 8])), ops.constant(np.float32(0)), ops.constant(np.float32(1)), "f32", 7, 11
    )
    path = saved(ov.Model([ops.result(ops.add(x, drawn))], [x]))
    job = Job(path, (emulated_gpu.emulated_device(), Device("CPU", "CPU", F32)))
    pool = ProcessPool(WorkerSpec("openvino", job))
    try:
        (alone,) = pool.measure([whole(read_graph(path), "CPU", ("GPU", "CPU"))], SPEC)
    finally:
        pool.close()
    assert alone.max_error == 0
