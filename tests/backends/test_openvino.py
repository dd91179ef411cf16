"""The OpenVINO backend with the real runtime: aliases of the CPU, and once the emulated GPU in a process of its own."""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby

import numpy as np
import openvino as ov
import pytest
from openvino import opset13 as ops

from ovplace.backends.openvino import Backend
from ovplace.backends.openvino import backend as backend_module
from ovplace.core.accuracy import NOT_FINITE
from ovplace.core.device import Device
from ovplace.core.measurement import Candidate, ErrorKind, Job, MeasureSpec
from ovplace.core.placement import Placement
from ovplace.devices import emulated_gpu
from ovplace.errors import ModelError
from ovplace.ir.legal.groups import legal_groups
from ovplace.ir.prepare.prepare import prepare
from ovplace.ir.read import read_graph
from ovplace.measuring.process_pool import ProcessPool, WorkerSpec
from ovplace.testing import models
from ovplace.testing.placements import later_half

SPEC = MeasureSpec(warmup=1, blocks=2, repeats=2, min_time_ms=0.0, hopeless_ratio=1e6)
F32 = {"INFERENCE_PRECISION_HINT": "f32"}
PAIR = (Device("CPU_A", "CPU", F32), Device("CPU_B", "CPU", F32))
NAMES = ("CPU_A", "CPU_B")


@pytest.fixture
def saved(tmp_path):
    """Return a function that prepares a model and returns its path."""

    def save(model, name="model"):
        source = tmp_path / f"{name}-source.xml"
        ov.save_model(model, source, compress_to_fp16=False)
        prepare(source, tmp_path / f"{name}.xml")
        return str(tmp_path / f"{name}.xml")

    return save


def chain(kind=np.float32, shape=(2, 8)):
    """Return a model that converts its input to f32 and does five things with it."""
    x = ops.parameter(list(shape), kind, name="x")
    x.output(0).set_names({"x"})
    y = ops.convert(x, "f32", name="converted")
    for i in range(4):
        y = ops.tanh(ops.multiply(y, ops.constant(np.float32([[0.5 + i]])), name=f"times{i}"), name=f"tanh{i}")
    return ov.Model([ops.result(y, name="y")], [x])


def whole(graph, device="CPU_A", names=NAMES):
    return Candidate(device, Placement.uniform(len(graph), device, names))


def halves(graph, names=NAMES):
    """Return the candidate that puts what computes in the second half of the order on the second device."""
    return Candidate("halves", Placement(later_half(graph), names))


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


def test_compiled_models_are_kept_and_forgotten(saved):
    path = saved(chain())
    graph, backend = read_graph(path), Backend(Job(path, PAIR, options={"keep_compiled": 1}))
    first = backend.measure([whole(graph)], SPEC)[0]
    again = backend.measure([whole(graph)], SPEC)[0]
    backend.measure([whole(graph, "CPU_B")], SPEC)
    anew = backend.measure([whole(graph)], SPEC)[0]
    first_ms, again_ms, anew_ms = (float(m.facts["compiling_ms"]) for m in (first, again, anew))
    assert again_ms < 0.1 * min(first_ms, anew_ms)


def test_short_inferences_get_more_samples_and_hopeless_candidates_one(saved, monkeypatch):
    path = saved(chain())
    graph, backend = read_graph(path), Backend(Job(path, PAIR))
    fast, slow = whole(graph), whole(graph, "CPU_B")
    spec = MeasureSpec(warmup=1, blocks=2, repeats=2, min_time_ms=5.0, hopeless_ratio=2.5)
    real = Backend._warm_up
    monkeypatch.setattr(
        Backend, "_warm_up", lambda self, r, s: real(self, r, s) * (1e6 if r.submodels == ("CPU_B",) else 1)
    )
    measured = backend.measure([fast, slow, replace(slow, reference=True)], spec)
    assert min(measured[0].blocks) > 2
    assert [m.blocks for m in measured[1:]] == [(1,), (1, 1)]  # each block has one of a reference


def test_candidates_take_turns_and_settle_before_they_are_timed(saved, monkeypatch):
    path, timed = saved(chain()), []
    graph, backend = read_graph(path), Backend(Job(path, PAIR))
    candidates = [whole(graph), whole(graph, "CPU_B"), halves(graph)]

    def note(self, ready):
        timed.append(ready.submodels)
        real(self, ready)
        return 2.0

    real = Backend._timed  # without it, outputs would be what their memory held before
    monkeypatch.setattr(Backend, "_timed", note)
    monkeypatch.setattr(Backend, "_warm_up", lambda *_: 2.0)
    measured = backend.measure(candidates, replace(SPEC, blocks=3, repeats=3, min_time_ms=7.0))
    assert [(m.blocks, m.error_text) for m in measured] == [((4, 4, 4), "")] * 3
    # Two inferences settle for 3.5 ms, four are samples.
    a, b, split = ([submodels] * 6 for submodels in (("CPU_A",), ("CPU_B",), NAMES))
    assert timed[-54:] == [*a, *b, *split, *b, *split, *a, *split, *a, *b]


def test_the_shortest_inferences_get_a_limited_number_of_samples(saved, monkeypatch):
    path = saved(chain())
    graph, backend = read_graph(path), Backend(Job(path, PAIR))
    real = Backend._timed
    monkeypatch.setattr(Backend, "_timed", lambda self, ready: min(1e-4, real(self, ready)))
    (measured,) = backend.measure([whole(graph)], replace(SPEC, min_time_ms=5.0))
    assert all(499 <= count <= 501 for count in measured.blocks)


def test_one_slow_warm_up_does_not_make_a_candidate_slow(saved, monkeypatch):
    backend, paces = Backend(Job(saved(chain()), PAIR)), iter([3.0, 1.0, 9.0])
    monkeypatch.setattr(Backend, "_timed", lambda self, ready: next(paces))
    ready = backend_module._Ready(None, pace_ms=50.0)
    assert backend._warm_up(ready, replace(SPEC, warmup=3)) == 1.0


def test_one_slow_warm_up_of_a_search_does_not_make_a_candidate_slow_on_the_emulated_gpu(saved, monkeypatch):
    """Its first inference is slow, so the pace is that of the second one, after which its weights are copied."""
    backend, paces = Backend(Job(saved(chain()), PAIR)), iter([50.0, 1.0, 9.0])
    backend._job = replace(backend._job, devices=(PAIR[0], replace(PAIR[1], emulated=True)))
    monkeypatch.setattr(Backend, "_timed", lambda self, ready: next(paces))
    ready = backend._settled(None, 0.0, ())
    assert (ready.first_ms, backend._warm_up(ready, MeasureSpec().of_trial())) == (50.0, 1.0)


@pytest.mark.parametrize(("model", "untimed"), [(chain, 1), (models.kv_cache, 2)])
def test_only_a_state_needs_an_inference_after_settling(saved, monkeypatch, model, untimed):
    backend, latencies_ms = Backend(Job(saved(model()), PAIR)), iter(range(40, 99))
    monkeypatch.setattr(Backend, "_start_state", lambda *_: None)
    monkeypatch.setattr(Backend, "_timed", lambda self, ready: float(next(latencies_ms)))
    samples = backend._block(backend_module._Ready(), replace(SPEC, min_time_ms=10.0))
    assert samples == [40.0 + untimed + i for i in range(SPEC.repeats)]


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
            backend._start_state(request)
        request.infer()
        outputs.append(np.array(request.get_output_tensor(0).data))
    assert not np.allclose(outputs[0], backend.reference[0])
    np.testing.assert_allclose(outputs[1], backend.reference[0], atol=1e-6)


def test_a_stateful_model_in_two_parts(saved):
    from ovplace.ir.legal.groups import legal_groups

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


def test_candidates_take_turns_there_and_back(saved, monkeypatch):
    """Neither comes first more often, so a machine that becomes slower favours none."""
    path = saved(chain())
    graph, backend = read_graph(path), Backend(Job(path, PAIR))
    ran, infer = [], ov.InferRequest.infer

    def noting(request, *arguments, **options):
        ran.append(id(request))
        return infer(request, *arguments, **options)

    monkeypatch.setattr(ov.InferRequest, "infer", noting)
    backend.measure([whole(graph), halves(graph)], replace(SPEC, warmup=0, blocks=3))
    first, second = dict.fromkeys(ran)
    in_blocks = ran[-3 * 2 * (1 + SPEC.repeats) :]
    assert [one for one, _ in groupby(in_blocks)] == [first, second, first, second]
    assert in_blocks.count(first) == in_blocks.count(second)


def test_an_error_in_the_middle_of_the_blocks_is_the_candidates_own(saved, monkeypatch):
    path = saved(chain())
    graph, backend = read_graph(path), Backend(Job(path, PAIR))
    real, left = Backend._block, [3]

    def block(self, ready, *arguments):
        left[0] -= ready.submodels == ("CPU_B",)
        if left[0] < 2:
            raise RuntimeError("device\nlost, out of memory")
        return real(self, ready, *arguments)

    monkeypatch.setattr(Backend, "_block", block)
    left[0] = 2
    measured = backend.measure([whole(graph, "CPU_B"), whole(graph)], SPEC)
    assert measured[0].error == ErrorKind.MEMORY
    assert measured[0].error_text == "device lost, out of memory"


def test_what_openvino_chooses_by_itself(saved):
    path = saved(chain())
    backend = Backend(Job(path, PAIR))
    targets = ["HETERO:CPU_A,CPU_B", "HETERO:CPU_B,CPU_A", "AUTO:CPU"]
    measured = backend.measure([Candidate(t, target=t) for t in targets], SPEC)
    assert all(m.ok for m in measured), [m.error_text for m in measured]
    assert [m.submodels for m in measured] == [("CPU_A",), ("CPU_B",), ()]


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
    "another name": (lambda p: np.savez(p, y=np.zeros((2, 8))), "no array for input 'x'; it has: y"),
    "another shape": (lambda p: np.savez(p, x=np.zeros((8, 2))), "is of shape"),
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


def test_a_candidate_that_fails_while_warming_up_does_not_make_the_others_hopeless(saved, monkeypatch):
    path = saved(chain())
    graph, backend = read_graph(path), Backend(Job(path, PAIR))
    real = Backend._timed

    def failing(self, ready):
        if ready.submodels == ("CPU_B",) and ready.first_ms:
            raise RuntimeError("device lost")
        return real(self, ready)

    monkeypatch.setattr(Backend, "_timed", failing)
    good, bad = backend.measure([whole(graph), whole(graph, "CPU_B")], SPEC)
    assert good.blocks == (2, 2)
    assert bad.error == "infer"


def parts_of(graph, groups, device_of, names=NAMES):
    """Return a candidate for each group alone, in a placement of all operations."""
    placement = Placement(device_of, names)
    return [Candidate(f"part {i}", placement, part=tuple(m.tolist())) for i, m in enumerate(groups.members)]


@pytest.mark.parametrize("name", ["residual", "kv_cache", "int8_weights"])
def test_parts_run_on_what_the_whole_model_has_there(saved, name):
    from ovplace.ir.legal.groups import legal_groups

    path = saved(models.TINY[name]())
    graph, backend = read_graph(path), Backend(Job(path, PAIR))
    parts = parts_of(graph, legal_groups(graph), np.ones(len(graph), int))
    measured = backend.measure([*parts, whole(graph)], SPEC)
    assert all(m.ok for m in measured), [m.error_text for m in measured]
    assert {m.submodels for m in measured[:-1]} == {("CPU_B",)}
    assert list(backend._kept) == [whole(graph).hash]


def test_a_part_on_two_devices(saved):
    path = saved(chain())
    graph, backend = read_graph(path), Backend(Job(path, PAIR))
    split = halves(graph)
    late = {graph.types[i] for i in np.flatnonzero(split.placement.device_of)}
    assert "Tanh" in late
    part = tuple(i for i, kind in enumerate(graph.types) if kind not in ("Result",))
    m = backend.measure([Candidate("part", split.placement, part=part)], SPEC)[0]
    assert m.ok, m.error_text
    assert m.submodels == NAMES


def test_a_part_is_hopeless_only_beside_the_same_part(saved, monkeypatch):
    path = saved(chain())
    graph, backend = read_graph(path), Backend(Job(path, PAIR))
    real = Backend._warm_up
    monkeypatch.setattr(
        Backend, "_warm_up", lambda self, r, s: real(self, r, s) * (1e6 if r.submodels == ("CPU_B",) else 1)
    )
    steps = [i for i, kind in enumerate(graph.types) if kind == "Tanh"][:2]
    parts = [
        Candidate("part", Placement.uniform(len(graph), name, NAMES), part=(step,))
        for step, name in [(steps[0], "CPU_A"), (steps[0], "CPU_B"), (steps[1], "CPU_B")]
    ]
    measured = backend.measure(parts, MeasureSpec(warmup=1, blocks=2, repeats=2, min_time_ms=0.0))
    assert [m.blocks for m in measured] == [(2, 2), (1,), (2, 2)]


def test_a_staged_placement_is_timed_stage_by_stage(saved):
    path = saved(chain(shape=(64, 256)))
    graph, backend = read_graph(path), Backend(Job(path, PAIR))
    split = halves(graph)
    staged = Candidate("staged", split.placement, staged=True)
    whole_run, stage_run, one_device = backend.measure(
        [split, staged, Candidate("CPU_A", whole(graph).placement, staged=True)], SPEC
    )
    assert stage_run.submodels == whole_run.submodels == ("CPU_A", "CPU_B")
    assert len(stage_run.stages_ms) == 2
    assert 0 < sum(stage_run.stages_ms) <= 1.2 * max(stage_run.samples_ms)
    assert [o.max_abs for o in stage_run.outputs] == [o.max_abs for o in whole_run.outputs]
    assert set(stage_run.facts["execution_devices"].split(",")) == set(NAMES)
    assert whole_run.stages_ms == one_device.stages_ms == ()


def test_a_cut_part_in_stages_shares_what_its_halves_compiled(saved, monkeypatch):
    path = saved(chain(shape=(64, 256)))
    graph, backend = read_graph(path), Backend(Job(path, PAIR))
    steps = [i for i, kind in enumerate(graph.types) if kind in ("Multiply", "Tanh")]
    sides = tuple(steps[:2]), tuple(steps[2:4])
    device_of = np.zeros(len(graph), dtype=int)
    device_of[list(sides[1])] = 1
    alone = [
        Candidate("alone", Placement.uniform(len(graph), name, NAMES), part=side)
        for name, side in zip(NAMES, sides, strict=True)
    ]
    cut = Candidate("cut", Placement(device_of, NAMES), part=(*sides[0], *sides[1]), staged=True)
    backend.measure(alone, SPEC)  # which records the tensors that go into them, too
    monkeypatch.setattr(backend._core, "compile_model", None)  # nothing is compiled any more
    [measured] = backend.measure([cut], SPEC)
    assert measured.submodels == NAMES, measured.error_text


def test_states_of_stages_start_anew_like_those_of_a_whole_model(saved):
    path = saved(models.kv_cache())
    graph, backend = read_graph(path), Backend(Job(path, PAIR))
    legal = legal_groups(graph)
    placement = legal.lift(np.arange(legal.n_groups) % 2, NAMES)
    for _ in range(2):
        [measured] = backend.measure([Candidate("staged", placement, staged=True)], SPEC)
        assert measured.ok, measured.error_text
        assert measured.max_error < 1e-5
