"""Simulated machines: files and their errors, exactness on every level of grouping, calibration, noise."""

from __future__ import annotations

import importlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ovplace import zoo
from ovplace.core.device import Device
from ovplace.core.partition import Partition
from ovplace.cost.evaluate.effective_devices import effective_devices, split_mixed_groups
from ovplace.cost.evaluate.latency import latency_ms, pairwise_ms
from ovplace.cost.evaluate.restrict import restrict
from ovplace.errors import ConfigError, DeviceError, OvplaceError, PlacementError, UsageError
from ovplace.graphs.work import work
from ovplace.ir.legal.groups import legal_groups
from ovplace.ir.read import op_graph
from ovplace.seeds import generator
from ovplace.simulation.machine import Link, SimulatedDevice, SimulatedMachine
from ovplace.simulation.machine_file import load_machine, machine_names
from ovplace.simulation.noise import Noise, RequestNoise
from ovplace.simulation.roofline import fused_edges

HSDAG = "i9-12900k+flex170"
GOOD = """
[devices.GPU]
peak_gflops = 1000
gb_per_s = 100
[devices.CPU]
peak_gflops = 100
gb_per_s = 50
[links.default]
latency_us = 10
gb_per_s = 5
"""


@pytest.fixture(scope="module", params=["detector-head", "bert-base", "resnet-50"])
def graph(request):
    recipe = zoo.recipe(request.param)
    return op_graph(recipe.build(recipe.SMALL))


def merged(partition, rng, count):
    """Return `partition` with random pairs of groups joined."""
    labels = np.arange(partition.n_groups)
    for a, b in rng.integers(partition.n_groups, size=(count, 2)):
        labels[labels == labels[a]] = labels[b]
    return partition.then(Partition.from_labels(labels))


@pytest.mark.parametrize("name", machine_names())
def test_the_machines_that_come_with_it(name, graph):
    machine = load_machine(name)
    assert machine.description
    assert machine.names
    for device in machine.as_devices():
        assert device.facts["full_name"].endswith("(simulated)")
    table = machine.table(graph, legal_groups(graph))
    assert table.source == f"simulated: {name}"
    assert (table.saving_ms > 0).any()


@pytest.mark.parametrize("name", ["core-ultra", "two-gpus", HSDAG])
def test_every_grouping_has_the_same_costs(name, graph):
    machine, rng = load_machine(name), generator(0, "test", name)
    legal = legal_groups(graph)
    fine = machine.table(graph, legal)
    for count in (1, 5, 20, 60):
        coarse = merged(legal, rng, count)
        table = machine.table(graph, coarse)
        allowed = np.isfinite(table.group_ms)
        choice = np.array([rng.choice(np.flatnonzero(row)) for row in allowed])
        placement = coarse.lift(choice, machine.names)
        _, legal_choice = split_mixed_groups(legal, placement.device_of)
        expected = pairwise_ms(fine, legal_choice[None])[0]
        assert pairwise_ms(table, choice[None])[0] == pytest.approx(expected)


def test_operations_as_groups_have_the_same_costs(graph):
    machine, rng = load_machine(HSDAG), generator(1, "test")
    legal, each = legal_groups(graph), Partition.identity(len(graph))
    device_of = rng.integers(2, size=legal.n_groups)
    ops = device_of[legal.group_of]
    assert pairwise_ms(machine.table(graph, each), ops[None])[0] == pytest.approx(
        pairwise_ms(machine.table(graph, legal), device_of[None])[0]
    )


def test_fusions_form_chains_of_an_only_reader(graph):
    fused = fused_edges(graph, load_machine(HSDAG).fusable, work(graph))
    source, reader = graph.edges[:, fused]
    assert len(set(source.tolist())) == len(source) == len(set(reader.tolist()))
    assert (graph.out_degree[source] == 1).all()


def test_nothing_is_saved_beyond_its_cost(graph):
    machine = load_machine(HSDAG)
    legal = legal_groups(graph)
    assert (machine.table(graph, legal).group_ms >= 0).all()
    alone = machine.table(graph, Partition.from_labels(np.zeros(len(graph), dtype=np.int64)))
    assert (alone.group_ms > 0).all()
    without = replace(machine, fusable={}).table(graph, legal)
    assert without.saving_ms.sum() == 0
    uniform = np.zeros((1, legal.n_groups), dtype=np.int64)
    assert latency_ms(machine.table(graph, legal), uniform) < latency_ms(without, uniform)


def test_on_two_identical_devices_nothing_beats_one(graph):
    machine, rng = load_machine("null"), generator(2, "test")
    table = machine.table(graph, legal_groups(graph))
    placements = rng.integers(2, size=(200, table.n_groups))
    alone = latency_ms(table, np.zeros((1, table.n_groups), dtype=np.int64))[0]
    assert (latency_ms(table, placements) > alone).all()


def test_a_kernel_costs_the_slower_of_arithmetic_and_memory(graph):
    of = work(graph)
    slow = {"peak_gflops": 1.0, "gb_per_s": 1.0, "efficiency": 0.5, "memory_efficiency": 0.5, "launch_us": 2.0}
    device = SimulatedDevice(name="CPU", base="CPU", **slow)
    arithmetic, moved = of.flops / 0.5e6, (of.weight_bytes + of.read_bytes + of.write_bytes) / 0.5e6
    assert device.op_ms(graph, of) == pytest.approx(np.maximum(arithmetic, moved) + of.kernels * 2e-3)
    lazy = replace(device, efficiencies={"Convolution": 0.1, "MatMul": 0.1})
    assert lazy.op_ms(graph, of).sum() > device.op_ms(graph, of).sum()
    cached = replace(device, cache_mb=1000.0, cache_gb_per_s=1e9)
    assert cached.op_ms(graph, of) == pytest.approx(arithmetic + of.kernels * 2e-3, rel=1e-3)


def test_links_have_a_direction(graph, tmp_path):
    (tmp_path / "one.toml").write_text(GOOD + '[links."CPU>GPU"]\nlatency_us = 30\n')
    machine = load_machine(str(tmp_path / "one.toml"))
    table = machine.table(graph, legal_groups(graph))
    gpu, cpu = machine.names.index("GPU"), machine.names.index("CPU")
    assert (table.latency_ms[cpu, gpu], table.ms_per_byte[cpu, gpu]) == (0.03, 0.0)
    assert (table.latency_ms[gpu, cpu], table.ms_per_byte[gpu, cpu]) == (0.01, pytest.approx(1e-6 / 5))


def test_devices_in_another_order(graph):
    machine = load_machine("core-ultra")
    devices = machine.as_devices()[::-1]
    legal = legal_groups(graph)
    there = machine.having(devices)
    assert there.names == tuple(device.name for device in devices)
    a, b = machine.table(graph, legal), there.table(graph, legal)
    np.testing.assert_array_equal(a.group_ms[:, ::-1], b.group_ms)
    np.testing.assert_array_equal(a.latency_ms[::-1, ::-1], b.latency_ms)
    assert machine.having((Device("CPU_F32", "CPU"),)).names == ("CPU_F32",)
    with pytest.raises(DeviceError, match=r"core-ultra.*GPU, NPU, CPU"):
        machine.having((Device("GPU.1", "GPU.1"),))


def test_a_group_that_no_device_can_run(graph):
    device = SimulatedDevice(name="CPU", base="CPU", peak_gflops=1, gb_per_s=1, unsupported=tuple(set(graph.types)))
    with pytest.raises(PlacementError, match="no device of the simulated machine 'small'"):
        SimulatedMachine("small", (device,)).table(graph, legal_groups(graph))


def test_parts_are_models_of_their_own(graph):
    table = load_machine(HSDAG).table(graph, legal_groups(graph))
    everything = np.arange(table.n_groups)
    rng = generator(3, "test")
    device_of = rng.integers(2, size=(5, table.n_groups))
    assert latency_ms(restrict(table, everything), device_of) == pytest.approx(latency_ms(table, device_of))
    first, rest = everything[: table.n_groups // 2], everything[table.n_groups // 2 :]
    one = np.zeros((1, table.n_groups), dtype=np.int64)
    whole = pairwise_ms(table, one)[0]
    halves = sum(pairwise_ms(restrict(table, part), one[:, part])[0] for part in (first, rest))
    assert halves >= whole  # what the halves cannot fuse


def test_what_computes_nothing_follows_its_neighbours(graph):
    rng, legal = generator(4, "test"), legal_groups(graph)
    expected = rng.integers(2, size=legal.n_groups)[legal.group_of]
    device_of = expected.copy()
    free = [i for i, kind in enumerate(graph.types) if kind in ("Constant", "Parameter", "Result")]
    device_of[free] = 1 - device_of[free]
    shared = [i for i in free if graph.types[i] == "Constant" and len(graph.successors[i]) > 1]
    kept = np.setdiff1d(np.arange(len(graph)), shared)
    np.testing.assert_array_equal(effective_devices(graph, device_of)[kept], expected[kept])


@pytest.mark.slow
def test_hsdags_six_latencies(monkeypatch):
    monkeypatch.syspath_prepend(Path(__file__).parents[2])
    calibration = importlib.import_module("benchmarks.papers.calibration")
    monkeypatch.setattr(calibration, "fit", lambda machine, _: machine)  # as slow as the rest together
    found = list(calibration.rows(calibration.Options()))
    pairs = [(row["simulated, ms"], row["published, ms"]) for row in found if "published, ms" in row]
    assert len(pairs) == 6
    for simulated, published in pairs:
        assert simulated == pytest.approx(published, rel=0.005)
    machine = load_machine(HSDAG)
    slower = replace(machine, calibration={**machine.calibration, "resnet-50": {"GPU": 1.2, "CPU": 1.0}})
    monkeypatch.setattr(calibration, "load_machine", lambda _: slower)
    with pytest.raises(OvplaceError, match=r"resnet-50 on GPU takes .* published 7\.81 ms"):
        list(calibration.rows(calibration.SHORT))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("peak_gflops = 1", "must stand in a section"),
        (GOOD + "[extra]\n", "unknown section 'extra'"),
        (GOOD.replace("gb_per_s = 50", "gb_per_sec = 50"), r"unknown key '.*devices.CPU.gb_per_sec'"),
        (GOOD.replace("gb_per_s = 50", ""), r"devices.CPU': gb_per_s must be given"),
        (GOOD.replace("gb_per_s = 50", "gb_per_s = 'fast'"), r"devices.CPU.gb_per_s' must be float"),
        (GOOD.replace("peak_gflops = 100\n", "peak_gflops = 100\nefficiency = 2\n"), "efficiency must lie above 0"),
        (
            GOOD.replace("peak_gflops = 100\n", "peak_gflops = 100\nefficiencies = {MatMul = 'x'}\n"),
            "efficiencies.MatMul must lie above 0",
        ),
        (GOOD.replace("devices.CPU", "devices.HOST").replace("[links", 'base = "CPU"\n[links'), "must contain 'CPU'"),
        (GOOD.replace("default", '"CPU>NPU"'), "must be 'default' or 'A>B' of GPU, CPU"),
        (GOOD.replace("default", '"CPU>CPU"'), "must be 'default' or 'A>B' of GPU, CPU"),
        (GOOD.replace("default", '"CPU>GPU"'), r"no \[links.default\]"),
        (GOOD + "[links]\nx = 1\n", "links.x' must be a table"),
        (GOOD + "[calibration.bert]\nNPU = 2\n", "unknown device '.*calibration.bert.NPU'"),
        (GOOD + "[calibration.bert]\nGPU = 0\n", "calibration.bert.GPU' must be a positive number"),
        (GOOD + "[calibration.bert]\nGPU = inf\n", "calibration.bert.GPU' must be a positive number"),
        (GOOD + "[calibration]\nbert = 1\n", "calibration.bert' must be a table"),
        (GOOD + "[fusable]\nAdd = 'Relu'\n", "fusable.Add' must be a list"),
        (GOOD + "[noise]\nsigma = -1\n", "sigma must not be negative"),
        (GOOD + "[noise]\noutlier_factor = 0.5\n", "outlier_factor must be at least 1, got 0.5"),
        (GOOD + "[noise]\nautocorrelation = 1\n", "autocorrelation must be below 1, got 1"),
        (GOOD.replace("gb_per_s = 5\n", "gb_per_s = 0\n"), "gb_per_s positive, got 10.* and 0"),
        (GOOD + "[failures]\ncrash_probability = 2\n", "crash_probability must be 0 to 1"),
        ("[machine]\ndescription = 'x'\n", "a machine needs a device"),
        ("[devices]\nCPU = 3\n", "devices.CPU' must be a table"),
    ],
)
def test_bad_files(tmp_path, text, said):
    path = tmp_path / "bad.toml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=said):
        load_machine(str(path))


def test_unknown_machines_are_told_the_known_ones(tmp_path):
    with pytest.raises(UsageError, match=r"did you mean 'core-ultra'\?.*two-gpus"):
        load_machine("core-ultr")
    with pytest.raises(UsageError, match=r"or give a \.toml file"):
        load_machine(str(tmp_path / "none.toml"))


def test_a_changed_file_has_another_digest(tmp_path):
    path = tmp_path / "m.toml"
    path.write_text(GOOD)
    before = load_machine(str(path))
    assert (before.name, before.default_link) == ("m", Link(10.0, 5.0))
    path.write_text(GOOD.replace("= 5\n", "= 6\n"))
    assert load_machine(str(path)).digest != before.digest


def test_noise_is_what_it_says():
    noise = Noise(sigma=0.05, outlier_probability=0.1, outlier_factor=4.0)
    samples = RequestNoise(noise, generator(0, "test")).samples_ms(10.0, 4000)
    assert np.median(samples) == pytest.approx(10.0, rel=0.02)
    assert np.log(samples[samples < 12]).std() == pytest.approx(0.05, rel=0.3)
    assert (samples > 15).mean() == pytest.approx(0.08, abs=0.03)
    again = RequestNoise(noise, generator(0, "test")).samples_ms(10.0, 4000)
    np.testing.assert_array_equal(samples, again)
    np.testing.assert_array_equal(RequestNoise(noise.scaled(0), generator(0, "test")).samples_ms(10.0, 3), [10.0] * 3)


@pytest.mark.parametrize("correlation", [0.0, 0.6])
def test_the_noise_of_an_inference_goes_with_that_of_the_one_before(correlation):
    request = RequestNoise(Noise(sigma=0.05, autocorrelation=correlation), generator(0, "test"))
    logs = np.log(np.concatenate([request.samples_ms(10.0, 3) for _ in range(2000)]))
    assert np.corrcoef(logs[1:], logs[:-1])[0, 1] == pytest.approx(correlation, abs=0.04)
    assert logs.std() == pytest.approx(0.05, rel=0.05)


def test_drift_is_slow_and_within_its_range():
    samples = RequestNoise(Noise(drift=0.1, drift_period_s=1.0), generator(0, "test")).samples_ms(1.0, 2000)
    assert samples.min() == pytest.approx(0.9, abs=0.001)
    assert samples.max() == pytest.approx(1.1, abs=0.001)
    assert np.abs(np.diff(samples)).max() < 0.001
