"""Placements run stage by stage, with the real runtime on two aliases of the CPU."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import product
from time import sleep

import numpy as np
import openvino as ov
import pytest
from openvino import opset14

from ovplace.core.device import Device
from ovplace.core.placement import Placement
from ovplace.cost.evaluate.stages import Stages
from ovplace.devices.variants import register
from ovplace.errors import PlacementError
from ovplace.ir.affinity import check_chain, compile_placement, submodel_chain
from ovplace.ir.inputs import as_tensor, random_inputs
from ovplace.ir.legal.groups import legal_groups
from ovplace.ir.parts.part import extract, whole
from ovplace.ir.prepare.prepare import prepare
from ovplace.ir.read import read_graph
from ovplace.ir.shared_executor import submodel_properties
from ovplace.stages.chain import CompiledChain
from ovplace.stages.compiled_stages import COMPILED_BYTES, LEAKED_BYTES, CompiledStages
from ovplace.stages.compiler import Compiler
from ovplace.stages.stage import Stage, stages_of
from ovplace.store.blobs import Blobs
from ovplace.testing import models

F32 = {"INFERENCE_PRECISION_HINT": "f32"}
MIB = 2**20
DEVICES = {name: Device(name, "CPU", F32) for name in ("CPU_A", "CPU_B")}
KINDS = ("residual", "int8_weights", "tied_embedding", "kv_cache", "detector", "tensor_iterator", "several_outputs",
         "unread_input")  # fmt: skip


class Prepared:
    """A prepared model with what compiles its stages."""

    def __init__(self, model, folder, limit_bytes=2**30, devices=DEVICES):
        ov.save_model(model, folder / "source.xml", compress_to_fp16=False)
        prepare(folder / "source.xml", folder / "model.xml")
        self.core = CountingCore()
        register(self.core, list(DEVICES.values()))
        self.model = self.core.read_model(folder / "model.xml")
        self.graph = read_graph(folder / "model.xml")
        self.legal = legal_groups(self.graph)
        self.compiler = Compiler(self.core, Blobs(2**30, folder / "blobs"), "identity")
        self.stages = CompiledStages(self.compiler, partial(extract, self.model), devices, limit_bytes)

    def random_placement(self, seed):
        rng = np.random.default_rng(seed)
        return self.legal.lift(rng.integers(0, 2, self.legal.n_groups), tuple(DEVICES))

    def chain(self, placement):
        return CompiledChain([self.stages.get(s) for s in stages_of(self.graph, placement)], whole(self.model))

    def outputs(self, compiled):
        request = compiled.create_infer_request()
        for i, (port, array) in enumerate(zip(self.model.inputs, random_inputs(self.model, 0), strict=True)):
            request.set_input_tensor(i, as_tensor(port, array))
        request.infer()
        return [np.array(request.get_output_tensor(i).data) for i in range(len(request.model_outputs))], request


class CountingCore(ov.Core):
    compiled = 0

    def __init__(self):
        super().__init__()
        self.imported = []

    def compile_model(self, *arguments, **options):
        self.compiled += 1
        return super().compile_model(*arguments, **options)

    def import_model(self, blob, *target):
        self.imported.append(target)
        return super().import_model(blob, *target)


@pytest.fixture(params=KINDS)
def prepared(request, tmp_path):
    return Prepared(getattr(models, request.param)(), tmp_path)


@pytest.fixture
def everything_is_kept(monkeypatch):
    monkeypatch.setattr("ovplace.stages.compiler.WORTH_S", 0.0)
    monkeypatch.setattr("ovplace.stages.compiler.BYTES_PER_S", float("inf"))


def test_a_chain_computes_what_hetero_computes(prepared):
    for seed in range(3):
        placement = prepared.random_placement(seed)
        chained, request = prepared.outputs(prepared.chain(placement))
        whole, _ = prepared.outputs(compile_placement(prepared.core, prepared.model, placement))
        for a, b in zip(chained, whole, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
        assert len(request.last_ms) == len(stages_of(prepared.graph, placement))
        assert all(ms > 0 for ms in request.last_ms)


def test_the_time_between_stages_does_not_count(tmp_path, monkeypatch):
    prepared, infer = Prepared(models.residual(), tmp_path), ov.InferRequest.infer
    request = prepared.chain(prepared.random_placement(0)).create_infer_request()

    def slow(*given, **options):
        infer(*given, **options)
        sleep(0.05)

    monkeypatch.setattr(ov.InferRequest, "infer", slow)
    request.infer()
    assert len(request.last_ms) > 1
    assert 0 < request.latency == sum(request.last_ms) == sum(stage.latency for stage in request._requests)


def test_tensors_between_stages_are_of_the_host(tmp_path, monkeypatch):
    """HETERO makes them itself: a GPU's own output tensors would save copies that HETERO pays for."""
    prepared = Prepared(models.residual(), tmp_path)
    given, set_output_tensor = [], ov.InferRequest.set_output_tensor

    def noting(request, index, tensor):
        given.append(tensor.data.ctypes.data)
        set_output_tensor(request, index, tensor)

    monkeypatch.setattr(ov.InferRequest, "set_output_tensor", noting)
    chain = prepared.chain(prepared.random_placement(0))
    request = chain.create_infer_request()
    read = {
        stage.get_input_tensor(i).data.ctypes.data
        for stage in request._requests[1:]
        for i in range(len(stage.model_inputs))
    }
    assert given
    assert set(given) <= read


def test_stages_hold_every_operation_that_runs_once(prepared):
    placement = prepared.random_placement(1)
    stages = stages_of(prepared.graph, placement)
    ops = [op for stage in stages for op in stage.ops]
    assert len(ops) == len(set(ops))
    left_out = set(range(len(prepared.graph))) - set(ops)
    assert {prepared.graph.types[op] for op in left_out} <= {"Constant", "Parameter"}
    assert not any(prepared.graph.successors[op] for op in left_out if prepared.graph.types[op] == "Parameter")
    for stage in stages:
        assert {placement.devices[placement.device_of[op]] for op in stage.ops} == {stage.device}


@pytest.mark.parametrize(("kind", "refused"), [("inner_output", 1), ("loose_ends", 0)])
def test_placements_are_refused_where_hetero_cuts_an_output_off_and_fails(tmp_path, kind, refused):
    """The first group may stay on one of the devices, which are alike."""
    of = Prepared(getattr(models, kind)(), tmp_path)
    found = 0
    for choice in product(range(2), repeat=of.legal.n_groups - 1):
        placement = of.legal.lift(np.array([0, *choice]), tuple(DEVICES))
        try:
            stages_of(of.graph, placement)
        except PlacementError as error:
            assert "cuts the output of 'inner' off" in str(error)
            with pytest.raises(RuntimeError):
                compile_placement(of.core, of.model, placement)
            found += 1
        else:
            compile_placement(of.core, of.model, placement)
    assert found == refused


def test_the_cost_model_knows_the_submodels_that_are_timed(prepared):
    placement = prepared.random_placement(1)
    assert len(placement.used) > 1
    known = Stages.of(prepared.graph, prepared.legal, placement.device_of, np.zeros((2, 2)))
    assert len(known.stage_of_submodel) == len(stages_of(prepared.graph, placement))


def test_one_device_is_one_stage(prepared):
    n = len(prepared.graph)
    assert stages_of(prepared.graph, Placement.uniform(n, "CPU_B", tuple(DEVICES))) == (
        Stage(tuple(range(n)), "CPU_B"),
    )


def test_the_stages_of_a_part_are_its_own(prepared):
    placement = prepared.random_placement(1)
    part = tuple(int(op) for op in prepared.graph.order[: len(prepared.graph) // 2])
    stages = stages_of(prepared.graph, placement, part)
    assert all(set(stage.ops) <= set(part) for stage in stages)
    for stage in stages:
        assert {placement.devices[placement.device_of[op]] for op in stage.ops} == {stage.device}
    everything = tuple(range(len(prepared.graph)))
    assert stages_of(prepared.graph, placement, everything) == stages_of(prepared.graph, placement)


def test_shared_stages_are_compiled_once(prepared):
    placement = prepared.random_placement(0)
    stages = stages_of(prepared.graph, placement)
    prepared.chain(placement)
    assert prepared.core.compiled == len(stages)
    prepared.chain(placement)
    assert prepared.core.compiled == len(stages)


def test_the_least_recently_used_are_released(tmp_path, monkeypatch):
    monkeypatch.setattr("ovplace.stages.compiler.WORTH_S", float("inf"))  # a busy machine compiles slowly
    prepared = Prepared(models.residual(), tmp_path, limit_bytes=1)
    stages = stages_of(prepared.graph, prepared.random_placement(0))[:2]
    for stage in [*stages, stages[0]]:
        prepared.stages.get(stage)
    assert prepared.core.compiled == 3


def test_small_stages_of_the_emulated_gpu_are_kept_as_it_gives_no_memory_back(tmp_path, monkeypatch):
    emulated = {name: replace(device, emulated=name == "CPU_B") for name, device in DEVICES.items()}
    monkeypatch.setattr("ovplace.stages.compiler.WORTH_S", float("inf"))
    prepared = Prepared(chain_of(6), tmp_path, limit_bytes=1, devices=emulated)
    first, on_gpu, second = Stage((1, 2), "CPU_A"), Stage((3, 4), "CPU_B"), Stage((5, 6), "CPU_A")
    for stage in (on_gpu, first, second, on_gpu):
        prepared.stages.get(stage)
    assert prepared.core.compiled == 3
    prepared.stages.get(first)
    assert prepared.core.compiled == 4
    assert prepared.stages.get(on_gpu).n_bytes == 0


def test_large_stages_of_the_emulated_gpu_give_memory_back(tmp_path):
    emulated = {name: replace(device, emulated=True) for name, device in DEVICES.items()}
    prepared = Prepared(chain_of(6, mib=16), tmp_path, devices=emulated)
    assert prepared.stages.get(Stage((1, 2, 3), "CPU_B")).n_bytes == (2 + 2) * 16 * MIB - LEAKED_BYTES


def test_tensors_that_share_memory_are_not_counted_one_by_one(tmp_path):
    sizes = []
    for length in (3, 30):
        folder = tmp_path / str(length)
        folder.mkdir()
        prepared = Prepared(chain_of(length), folder)
        whole_model = Stage(tuple(range(len(prepared.graph))), "CPU_A")
        sizes.append(prepared.stages.get(whole_model).n_bytes)
    assert sizes[0] == sizes[1] == COMPILED_BYTES + 2 * MIB + 2 * MIB  # in and out, and two in between


def chain_of(length, mib=1):
    """Return operations in a row, each with an output of some MiB."""
    found = entry = opset14.parameter([mib * 2**18], np.float32, name="x")
    for i in range(length):
        found = opset14.sin(found) if i % 2 else opset14.tanh(found)
    return ov.Model([opset14.result(found)], [entry], "chain")


def test_another_process_imports_what_was_compiled(tmp_path, everything_is_kept):
    first = Prepared(models.residual(), tmp_path)
    placement = first.random_placement(0)
    outputs, _ = first.outputs(first.chain(placement))
    second = Prepared(models.residual(), tmp_path)
    again, _ = second.outputs(second.chain(placement))
    assert second.core.compiled == 0
    for a, b in zip(outputs, again, strict=True):
        np.testing.assert_array_equal(a, b)


def test_another_process_imports_whole_models(tmp_path, everything_is_kept, monkeypatch):
    for _ in range(2):
        prepared = Prepared(models.residual(), tmp_path)
        whole_models = [
            prepared.compiler.compile_reference(prepared.model),
            prepared.compiler.compile_automatic(prepared.model, "HETERO:CPU_A,CPU_B", list(DEVICES.values())),
        ]
        first, second = (prepared.outputs(whole_model)[0][0] for whole_model in whole_models)
        np.testing.assert_allclose(first, second, rtol=1e-5, atol=1e-6)
        monkeypatch.delattr(Compiler, "_built", raising=False)  # the second time, nothing is compiled


def test_the_reference_has_no_property_of_the_devices(tmp_path, everything_is_kept):
    prepared = Prepared(models.residual(), tmp_path)
    register(prepared.core, [Device("CPU", "CPU", {"EXECUTION_MODE_HINT": "ACCURACY"})])
    for _ in range(2):  # compiled, then imported
        reference = prepared.compiler.compile_reference(prepared.model)
        assert str(reference.get_property("EXECUTION_MODE_HINT")).endswith("PERFORMANCE")


@pytest.mark.parametrize("kind", KINDS)
def test_another_process_imports_placements(tmp_path, everything_is_kept, kind):
    outputs = []
    for compiled in (1, 0):
        prepared = Prepared(getattr(models, kind)(), tmp_path)
        placement = next(p for p in map(prepared.random_placement, range(20)) if not p.is_uniform)
        by_hetero = prepared.compiler.compile_placement(prepared.model, placement, DEVICES)
        assert prepared.core.compiled == compiled
        check_chain(placement, submodel_chain(by_hetero))
        outputs.append(prepared.outputs(by_hetero)[0])
    for a, b in zip(*outputs, strict=True):
        np.testing.assert_array_equal(a, b)


def test_stages_share_an_executor_as_submodels_of_hetero_do(tmp_path, everything_is_kept):
    for _ in range(2):  # compiled, then imported
        prepared = Prepared(models.residual(), tmp_path)
        for stage in stages_of(prepared.graph, prepared.random_placement(0)):
            assert prepared.stages.get(stage).compiled.get_property("EXCLUSIVE_ASYNC_REQUESTS") in (True, "YES")
        alone = prepared.compiler.compile(prepared.model, [], DEVICES["CPU_A"])
        assert alone.get_property("EXCLUSIVE_ASYNC_REQUESTS") in (False, "NO")


def test_submodels_that_hetero_imports_share_an_executor(tmp_path, everything_is_kept):
    for _ in range(2):
        prepared = Prepared(models.residual(), tmp_path)
        prepared.compiler.compile_placement(prepared.model, prepared.random_placement(0), DEVICES)
    [(target, properties)] = prepared.core.imported
    assert target == "HETERO:CPU_A,CPU_B"
    assert properties == {"DEVICE_PROPERTIES": {name: {"EXCLUSIVE_ASYNC_REQUESTS": True} for name in DEVICES}}


def test_a_plugin_that_lists_no_internal_properties_gets_none():
    class Core:
        def get_property(self, device, name):
            raise RuntimeError("not found")

    assert submodel_properties(Core(), "CPU") == {}


def test_auto_compiles_through_a_folder_that_counts_as_blobs(tmp_path):
    prepared = Prepared(models.residual(), tmp_path)
    compiled = prepared.compiler.compile_automatic(prepared.model, "AUTO:CPU_A,CPU_B", list(DEVICES.values()))
    assert prepared.outputs(compiled)[0][0].size
    assert list((tmp_path / "blobs").glob("*.blob"))
    Blobs(1, tmp_path / "blobs").shrink()
    assert not list((tmp_path / "blobs").glob("*.blob"))


def test_a_blob_that_does_not_load_is_compiled_anew(tmp_path, everything_is_kept):
    first = Prepared(models.residual(), tmp_path)
    stage = stages_of(first.graph, first.random_placement(0))[0]
    first.stages.get(stage)
    [path] = (tmp_path / "blobs").iterdir()
    Blobs(2**30, tmp_path / "blobs").keep(path.stem, b"of another driver")
    second = Prepared(models.residual(), tmp_path)
    second.stages.get(stage)
    assert second.core.compiled == 1
    assert Blobs(2**30, tmp_path / "blobs").find(path.stem) != b"of another driver"


def test_a_blob_that_takes_longer_to_write_than_to_compile_is_not_kept(tmp_path, everything_is_kept, monkeypatch):
    monkeypatch.setattr("ovplace.stages.compiler.BYTES_PER_S", 1.0)
    first = Prepared(models.residual(), tmp_path)
    first.stages.get(stages_of(first.graph, first.random_placement(0))[0])
    assert not list(tmp_path.glob("blobs/*.blob"))


def test_nothing_is_exported_without_a_cache(tmp_path, everything_is_kept, monkeypatch):
    without = Prepared(models.residual(), tmp_path)
    monkeypatch.setattr(ov.CompiledModel, "export_model", lambda *_: pytest.fail("exported"))
    off = Compiler(without.core, Blobs(0, tmp_path / "blobs"), "identity")
    off.compile(without.model, (), DEVICES["CPU_A"])
    with pytest.raises(pytest.fail.Exception, match="exported"):
        without.compiler.compile(without.model, (), DEVICES["CPU_A"])


def test_a_chain_that_lacks_a_stage_is_refused(prepared):
    stages = stages_of(prepared.graph, prepared.random_placement(0))
    compiled = [prepared.stages.get(stage) for stage in stages[1:]]
    with pytest.raises(PlacementError, match="no stage before it computes"):
        CompiledChain(compiled, whole(prepared.model)).create_infer_request()


def test_a_chain_returns_constants_that_are_outputs(tmp_path):
    prepared = Prepared(models.loose_ends(), tmp_path)
    placement = prepared.legal.lift([0, 1], tuple(DEVICES))
    chained, _ = prepared.outputs(prepared.chain(placement))
    whole, _ = prepared.outputs(prepared.core.compile_model(prepared.model, "CPU_A"))
    assert len(placement.used) == 2
    for a, b in zip(chained, whole, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def drawn():
    """Return random numbers of a generator with seeds."""
    return opset14.random_uniform([2, 3], np.float32(0), np.float32(1), "f32", global_seed=7, op_seed=9)


def drawn_in_a_branch():
    """Return the same from the branch of an If, which is taken."""
    then, otherwise = (
        ov.Model([opset14.result(values)], []) for values in (drawn(), opset14.constant(np.ones((2, 3), np.float32)))
    )
    chosen = opset14.if_op(opset14.parameter([], np.bool_, name="taken"))
    chosen.set_then_body(then)
    chosen.set_else_body(otherwise)
    chosen.set_output(then.get_results()[0], otherwise.get_results()[0])
    return chosen


@pytest.mark.parametrize("numbers", [drawn, drawn_in_a_branch])
def test_a_stage_that_draws_random_numbers_starts_its_generator_anew_for_each_placement(tmp_path, numbers):
    x, values = opset14.parameter([2, 3], np.float32, name="x"), numbers()
    taken = [value.get_node() for value in values.input_values() if value.get_node().get_type_name() == "Parameter"]
    model = ov.Model([opset14.relu(opset14.add(values, opset14.exp(x)))], [x, *taken])
    prepared = Prepared(model, tmp_path)
    placement = prepared.random_placement(0)
    (first,), _ = prepared.outputs(prepared.chain(placement))
    (second,), _ = prepared.outputs(prepared.chain(placement))
    np.testing.assert_array_equal(first, second)


def test_placements_that_part_a_state_are_refused(tmp_path):
    of = Prepared(models.delayed(), tmp_path)
    elsewhere = np.array([name == "0/difference" for name in of.graph.names]).astype(int)
    with pytest.raises(PlacementError, match=r"'0/read' .* read and write one state, which submodels do not share"):
        stages_of(of.graph, Placement(elsewhere, tuple(DEVICES)))
