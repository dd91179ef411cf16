"""The simulated backend: the contract on its own devices, the cost model as oracle, failures, noise, targets."""

from __future__ import annotations

import pickle
import shutil
from dataclasses import asdict, replace

import numpy as np
import openvino as ov
import pytest
from openvino import opset13 as ops

import ovplace
from ovplace import zoo
from ovplace.backends.simulate import Backend, Config
from ovplace.core.device import Device
from ovplace.core.measurement import Candidate, ErrorKind, Job, MeasureSpec
from ovplace.core.partition import Partition
from ovplace.core.placement import Placement
from ovplace.cost.evaluate.latency import latency_ms
from ovplace.errors import DeviceError, ModelError, UsageError
from ovplace.ir.legal.groups import legal_groups
from ovplace.ir.prepare.prepare import prepare
from ovplace.ir.read import own_name, read_graph
from ovplace.measuring.children import running_pids
from ovplace.plugins import registry
from ovplace.seeds import generator
from ovplace.simulation.machine_file import load_machine
from ovplace.testing.contracts.backend import BackendContract

SPEC = MeasureSpec(warmup=1, blocks=3, repeats=4, min_time_ms=0.0, hopeless_ratio=1e6)
MACHINE = """
[devices.GPU]
peak_gflops = 2000
gb_per_s = 100
launch_us = 5
submodel_us = 30
unsupported = ["Softmax"]
[devices.CPU]
peak_gflops = 200
gb_per_s = 40
launch_us = 1
submodel_us = 10
[links.default]
latency_us = 5
gb_per_s = 10
[fusable]
Convolution = ["Add"]
Add = ["Relu"]
"""


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    recipe = zoo.recipe("detector-head")
    ov.save_model(recipe.build(recipe.SMALL), folder / "source.xml", compress_to_fp16=False)
    prepare(folder / "source.xml", folder / "model.xml")
    return folder / "model.xml"


@pytest.fixture(scope="module")
def graph(model):
    return read_graph(model)


@pytest.fixture
def here(model, tmp_path):
    """Return a copy of the model that nobody has asked about before."""
    for suffix in (".xml", ".bin"):
        shutil.copy(model.with_suffix(suffix), tmp_path / f"model{suffix}")
    return tmp_path / "model.xml"


@pytest.fixture
def simulated(here, tmp_path):
    """Return a function that builds the backend on a machine of these tests."""

    def build(text=MACHINE, seed=0, names=(), **options):
        path = tmp_path / "machine.toml"
        path.write_text(text)
        devices = load_machine(str(path)).as_devices()
        chosen = [next(d for d in devices if d.name == name) for name in names] or devices
        config = Config(**{"machine": str(path), "noise": 0.0, **options})
        return Backend(Job(str(here), tuple(chosen), seed=seed, options=asdict(config)))

    return build


def uniform(graph, name):
    return Candidate(name, Placement.uniform(len(graph), name))


class TestOnItsOwnDevices(BackendContract):
    @pytest.fixture(params=["i9-12900k+flex170", "two-gpus", "null"])
    def machine(self, request):
        return request.param

    @pytest.fixture
    def plugin(self):
        return registry.load("backends", "simulate")

    @pytest.fixture
    def job(self, here, plugin, machine):
        return Job(str(here), load_machine(machine).as_devices()[:2], options=asdict(plugin.Config(machine=machine)))


def test_measured_is_the_cost_model(simulated, graph):
    backend, rng, legal = simulated(MACHINE.replace('["Softmax"]', "[]")), generator(0, "test"), legal_groups(graph)
    table = backend.costs(legal)
    choices = rng.integers(2, size=(20, legal.n_groups))
    candidates = [Candidate(str(i), legal.lift(choice, ("GPU", "CPU"))) for i, choice in enumerate(choices)]
    measured = backend.measure(candidates, SPEC)
    assert [m.median_ms for m in measured] == pytest.approx(latency_ms(table, choices).tolist())
    for candidate, m in zip(candidates, measured, strict=True):
        assert m.submodels == tuple(candidate.placement.submodels(graph))
        assert m.facts["simulated"] == "machine"
        assert m.samples_ms == (m.median_ms,) * 12


def test_costs_travel_and_know_the_fusions_of_a_coarser_grouping(simulated, graph):
    backend = simulated(MACHINE.replace('["Softmax"]', "[]"))
    one = Partition(np.zeros(len(graph), dtype=np.int64))
    table = pickle.loads(pickle.dumps(backend)).costs(one)
    found = backend.measure([uniform(graph, "GPU"), uniform(graph, "CPU")], SPEC)
    assert [m.median_ms for m in found] == pytest.approx((table.group_ms[0] + table.submodel_ms).tolist())


def test_facts_say_that_it_is_simulated(simulated):
    facts = simulated().facts()
    assert facts["simulated"] == "machine"
    assert facts["machine_hash"] == load_machine(str(simulated()._config.machine)).digest
    assert facts["cpu"].startswith("simulated")
    assert Backend.simulated
    calibrated = simulated(MACHINE + "[calibration.detector-head]\nGPU = 0.5\n").facts()
    assert calibrated["calibration"] == "detector-head: GPU x 0.5, CPU x 1"
    assert calibrated["machine_hash"] != facts["machine_hash"]


def test_the_order_of_the_devices_is_the_jobs(simulated, graph):
    backend = simulated(names=("CPU", "GPU"))
    assert backend.supported()[:, 0].all()
    assert not backend.supported()[:, 1].all()
    assert np.isinf(backend.costs(legal_groups(graph)).group_ms[:, 1]).any()


def test_what_a_device_refuses(simulated, graph):
    backend = simulated()
    refused, allowed = backend.measure([uniform(graph, "GPU"), uniform(graph, "CPU")], SPEC)
    assert (refused.error, allowed.ok) == (ErrorKind.COMPILE, True)
    assert "Softmax" in refused.error_text
    assert "simulated" in refused.error_text
    failing = simulated(MACHINE.replace("unsupported", "failing"))
    assert failing.supported().all()
    assert failing.measure([uniform(graph, "GPU")], SPEC)[0].error is ErrorKind.COMPILE


@pytest.mark.parametrize("key", ["unsupported", "failing"])
def test_what_is_computed_from_constants_alone_runs_anywhere(here, simulated, key):
    start = ops.parameter([2, 8], np.float32)
    folded = ops.softmax(ops.constant(np.ones((2, 8), dtype=np.float32)), 1)
    ov.save_model(ov.Model([ops.relu(ops.add(start, folded))], [start]), here, compress_to_fp16=False)
    backend = simulated(MACHINE.replace("unsupported", key))
    found = backend.measure([Candidate(t, target=t) for t in ("GPU", "HETERO:GPU,CPU")], SPEC)
    assert [m.submodels for m in found] == [("GPU",)] * 2


def test_memory(simulated, graph):
    text = MACHINE.replace('unsupported = ["Softmax"]', "memory_gb = 1e-6")
    full, fits = simulated(text).measure([uniform(graph, "GPU"), uniform(graph, "CPU")], SPEC)
    assert (full.error, fits.ok) == (ErrorKind.MEMORY, True)
    assert "out of memory" in full.error_text


def test_crashes_are_values(simulated, graph):
    backend = simulated(MACHINE + "[failures]\ncrash_probability = 0.5\n")
    found = [backend.measure([uniform(graph, "CPU")], SPEC)[0].error for _ in range(60)]
    assert 15 < found.count(ErrorKind.CRASH) < 45
    assert set(found) == {ErrorKind.CRASH, None}


def test_what_openvino_would_choose(simulated, graph):
    backend = simulated()
    targets = ("HETERO:GPU,CPU", "HETERO:CPU,GPU", "AUTO:GPU,CPU", "GPU", "HETERO:GPU")
    mixed, first, auto, alone, stuck = backend.measure([Candidate(t, target=t) for t in targets], SPEC)
    able = backend.supported()
    assert mixed.submodels == tuple(Placement(able.argmax(axis=1), ("GPU", "CPU")).submodels(graph))
    assert set(mixed.submodels) == {"GPU", "CPU"}
    cpu = backend.measure([uniform(graph, "CPU")], SPEC)[0]
    assert first.submodels == ("CPU",)
    assert auto.facts["execution_devices"] == "CPU"
    assert first.median_ms == auto.median_ms == cpu.median_ms
    assert alone.error is stuck.error is ErrorKind.COMPILE
    for target in ("MULTI:GPU,CPU", "HETERO:NPU", "HETERO:", "NPU"):
        assert backend.measure([Candidate(target, target=target)], SPEC)[0].error is ErrorKind.COMPILE


def test_placements_that_are_not_of_this_model(simulated, graph):
    n = len(graph)
    wrong = [Placement.uniform(n + 1, "CPU"), Placement.uniform(n, "NPU"), Placement.uniform(n, "CPU", ("NPU", "CPU"))]
    found = simulated().measure([Candidate(str(i), p) for i, p in enumerate(wrong)], SPEC)
    assert [m.error for m in found] == [ErrorKind.COMPILE, ErrorKind.COMPILE, None]


def test_constants_are_where_their_reader_is(simulated, graph):
    backend = simulated()
    device_of = np.ones(len(graph), dtype=np.int64)
    device_of[[i for i, kind in enumerate(graph.types) if kind == "Constant"]] = 0
    away, home = backend.measure([Candidate("a", Placement(device_of, ("GPU", "CPU"))), uniform(graph, "CPU")], SPEC)
    assert away.median_ms == home.median_ms


def test_staged_placements_are_timed_by_stage(simulated, graph):
    backend, legal = simulated(MACHINE.replace('["Softmax"]', "[]"), noise=1.0), legal_groups(graph)
    choice = generator(3, "test").integers(2, size=legal.n_groups)
    placement = legal.lift(choice, ("GPU", "CPU"))
    usual, staged = (Candidate("trial", placement, staged=staged) for staged in (False, True))
    alone = Candidate("alone", legal.lift(0 * choice, ("GPU", "CPU")), staged=True)
    of_usual, of_staged, of_alone = backend.measure([usual, staged, alone], SPEC)
    assert of_usual.stages_ms == of_alone.stages_ms == ()
    assert len(of_staged.stages_ms) == len(of_staged.submodels) > 3
    assert min(of_staged.stages_ms) > 0
    assert sum(of_staged.stages_ms) == pytest.approx(of_staged.median_ms)


def test_parts_are_timed_alone(simulated, graph):
    backend, legal = simulated(), legal_groups(graph)
    placement = Placement.uniform(len(graph), "CPU")
    table = backend.costs(legal)
    group = int(legal.group_of[graph.types.index("Convolution")])
    one = Candidate("one", placement, part=tuple(legal.members[group].tolist()))
    every = Candidate("all", placement, part=tuple(range(len(graph))))
    alone, whole, plain = backend.measure([one, every, uniform(graph, "CPU")], SPEC)
    assert alone.median_ms == pytest.approx(table.group_ms[group, 1] + table.submodel_ms[1])
    assert whole.median_ms == plain.median_ms
    softmax = legal.members[int(legal.group_of[graph.types.index("Softmax")])]
    on_gpu = [
        Candidate(str(i), Placement.uniform(len(graph), "GPU"), part=p)
        for i, p in enumerate([one.part, tuple(softmax)])
    ]
    assert [m.ok for m in backend.measure(on_gpu, SPEC)] == [True, False]


def test_noise_is_seeded_and_never_the_same_twice(simulated, graph, here):
    noisy = MACHINE + "[noise]\nsigma = 0.1\ncompilation_sigma = 0.1\n"
    candidates = [uniform(graph, "CPU")]
    first = simulated(noisy, noise=1.0).measure(candidates, SPEC)
    again = simulated(noisy, noise=1.0).measure(candidates, SPEC)  # as a process that takes over
    other = simulated(noisy, noise=1.0, seed=1).measure(candidates, SPEC)
    quiet = simulated(noisy).measure(candidates, SPEC)[0]
    assert len({m[0].samples_ms for m in (first, again, other)}) == 3
    assert len(set(quiet.samples_ms)) == 1
    here.with_suffix(".requests").write_bytes(b"\xff\x00 damaged\n")
    assert simulated(noisy, noise=1.0).measure(candidates, SPEC) == first
    assert simulated(noisy, noise=1.0).measure(candidates, SPEC) == again


def test_one_process_measures_a_whole_run(tmp_path):
    zoo.save_recipe("siren", zoo.recipe("siren").SMALL, tmp_path / "siren.xml")
    pids = set()
    ovplace.optimize(
        tmp_path / "siren.xml",
        tmp_path / "run",
        machine="core-ultra",
        budget=2,
        listener=lambda step: pids.update(running_pids()),
    )
    assert len(pids) == 1


def test_samples_are_as_the_spec_asks(simulated, graph):
    backend = simulated(MACHINE.replace('["Softmax"]', "[]").replace("submodel_us = 30", "submodel_us = 30000"))
    spec = MeasureSpec(blocks=4, repeats=2, min_time_ms=20.0, hopeless_ratio=2.5)
    slow = uniform(graph, "GPU")
    hopeless, reference, fast = backend.measure([slow, replace(slow, reference=True), uniform(graph, "CPU")], spec)
    assert hopeless.blocks == (1,)
    assert reference.blocks == (1, 1, 1, 1)
    assert len(fast.blocks) == 4
    assert sum(fast.samples_ms[: fast.blocks[0]]) >= 20.0


def test_a_folder_that_cannot_be_written(simulated, graph, monkeypatch):
    backend = simulated()
    backend._log = backend._log / "nowhere"
    assert backend.measure([uniform(graph, "CPU")], SPEC)[0].ok


def test_errors(simulated, here, tmp_path):
    with pytest.raises(DeviceError, match="not on the simulated machine"):
        Backend(Job(str(here), (Device("NPU", "NPU"),), options=asdict(Config())))
    with pytest.raises(UsageError, match="unknown simulated machine"):
        Backend(Job(str(here), (), options=asdict(Config(machine="none"))))
    with pytest.raises(ModelError, match="must be OpenVINO IR"):
        own_name(tmp_path / "machine.toml")
    for noise in (-1, float("nan"), float("inf")):
        with pytest.raises(ValueError, match=f"must not be negative, and noise finite, got {noise} and 0"):
            Config(noise=noise)


def test_preparing_keeps_the_models_name(model):
    assert own_name(model) == "detector-head"
