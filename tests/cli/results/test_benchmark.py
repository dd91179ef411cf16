"""`ovplace benchmark` runs the answer and its baselines as benchmark_app does, and reports what it reports."""

import csv
import json
import math
import shutil
import subprocess
import sys
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import openvino as ov
import pytest
from openvino.tools.benchmark.utils.statistics_report import (
    CsvStatisticsReport,
    JsonStatisticsReport,
    StatisticsReport,
)

from ovplace.api.benchmarking import benchmark_run
from ovplace.commands import benchmark as benchmark_module
from ovplace.commands.benchmark import PLACEMENT, BenchmarkCall, Benchmarked, benchmark, report, write_reports
from ovplace.core.device import Device
from ovplace.errors import BackendError, InUseError
from ovplace.ir.placed_model import write_placed
from ovplace.ir.prepare.prepare import prepare
from ovplace.ir.timing.requests import LayerTime, Load, RequestTimes, time_requests
from ovplace.session.events import silent
from ovplace.store.device_lock import for_worker
from ovplace.store.run_folder import RunFolder
from ovplace.testing import models

TIMES = RequestTimes((1.0,), 1.0, 0.0, 0.0, 0.0, 1, "CPU")
ASKED = BenchmarkCall(Load("sync", 1, 1, 0.0), 50, {"-niter": "1"})
APP = shutil.which("benchmark_app", path=Path(sys.executable).parent)


def data(done):
    assert done.code == 0, done.err
    return json.loads(done.out)


def test_every_candidate_is_shown_as_benchmark_app_shows_it(ovplace, finished):
    folder, _ = finished
    done = ovplace("benchmark", folder, "-niter", "5")
    assert done.code == 0, done.err
    for name in ("CPU", "CPU_A", PLACEMENT):
        assert f"[ INFO ] {name}\n" in done.out
    assert done.out.count("[ INFO ] Count:            5 iterations") == done.out.count("[ INFO ]    Median:  ")
    assert done.out.count("FPS") >= 3


@pytest.mark.slow
def test_async_runs_whole_rounds_of_its_requests(ovplace, finished):
    found = data(ovplace("benchmark", finished[0], "-niter", "5", "-api", "async", "-nireq", "2", "--json"))
    for one in found.values():
        assert isinstance(one, dict), one
        assert one["configuration_setup"]["number of parallel infer requests"] == "2"
        assert one["execution_results"]["total number of iterations"] == "6"


@pytest.mark.slow
def test_baselines_run_on_devices_that_the_answer_does_not_use(ovplace, finished, tmp_path):
    """A run's answer may be one of its devices; the others are known all the same."""
    run = tmp_path / "run"
    shutil.copytree(finished[0], run)
    table = dict.fromkeys(json.loads((run / "placement.json").read_text()), "CPU")
    write_placed(run / "placed.xml", run, table, [Device("CPU", "CPU", {"INFERENCE_PRECISION_HINT": "f32"})], {})
    found = data(ovplace("benchmark", run, "-niter", "1", "--json"))
    assert {name for name, one in found.items() if isinstance(one, str)} == set()
    assert "CPU_A" in found


def test_a_percentile_is_benchmark_apps():
    latencies = tuple(float(i) for i in range(1, 11))
    one = Benchmarked("x", "", RequestTimes(latencies, 100.0, 0.0, 0.0, 0.0, 1, "CPU"))
    assert [one.percentile_ms(p) for p in (1, 50, 90, 95, 100)] == [1.0, 5.0, 9.0, 10.0, 10.0]
    assert one.throughput == 100.0


@pytest.mark.parametrize("percent", [90, 100])
def test_another_percentile_is_reported_under_its_name(ovplace, finished, monkeypatch, percent):
    times = replace(TIMES, latencies_ms=(1.0, 2.0, 9.0), duration_ms=12.0)
    monkeypatch.setattr(benchmark_module, "isolated_call", lambda *_, **__: times)
    options = ("-niter", "3", "-latency_percentile", percent)
    shown = ovplace("benchmark", finished[0], *options)
    assert f"[ INFO ]    {percent} percentile:     9.00 ms\n" in shown.out
    assert "Median" not in shown.out
    assert "note: " not in shown.err
    found = data(ovplace("benchmark", finished[0], *options, "--json"))[PLACEMENT]["execution_results"]
    assert (found[f"latency ({percent} percentile) (ms)"], "latency (ms)" in found) == ("9.00", False)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("-nireq", "4"), "-nireq is for -api async"),
        (("-report_folder", "reports"), "-report_folder and -json_stats are for reports"),
        (("-json_stats",), "-report_folder and -json_stats are for reports"),
    ],
)
def test_options_that_do_nothing_are_told(ovplace, finished, monkeypatch, options, said):
    monkeypatch.setattr(benchmark_module, "isolated_call", lambda *_, **__: TIMES)
    done = ovplace("benchmark", finished[0], "-niter", "3", *options)
    assert (done.code, done.err.count("note: ")) == (0, 1)
    assert f"note: {said}" in done.err


def test_reports(ovplace, finished, tmp_path):
    options = ("-niter", "3", "-report_type", "average_counters", "-report_folder", tmp_path / "r")
    assert ovplace("benchmark", finished[0], *options, "-json_stats").code == 0
    found = json.loads((tmp_path / "r" / "benchmark_report_the_placement.json").read_text())
    results = found["execution_results"]
    assert results["total number of iterations"] == "3"
    assert float(results["min latency"]) <= float(results["latency (ms)"]) <= float(results["max latency"])
    counters = json.loads((tmp_path / "r" / "benchmark_average_counters_report_CPU.json").read_text())
    assert {"conv0", "sum"} <= {node["name"] for node in counters["avg_performance"]["nodes"]}
    assert ovplace("benchmark", finished[0], *options).code == 0
    lines = (tmp_path / "r" / "benchmark_report_CPU.csv").read_text().splitlines()
    rows = list(csv.reader(lines, delimiter=";"))
    assert ["total number of iterations", "3"] in rows


def test_reports_are_read_as_those_of_benchmark_app(tmp_path):
    layers = (LayerTime("a", "Add", "EXECUTED", 0.25, 0.125, "ref_f32"), LayerTime("b", "Relu", "NOT_RUN", 0, 0, "x"))
    one = Benchmarked("CPU", "CPU", RequestTimes((1.0,), 1.0, 0.0, 0.0, 0.0, 1, "CPU", layers))
    for as_json in (True, False):
        write_reports(tmp_path, [one], ASKED, as_json=as_json)
    theirs = SimpleNamespace(report_folder=str(tmp_path), report_type="average_counters")
    counted = [
        SimpleNamespace(node_name=x.name, node_type=x.node_type, status=f"Status.{x.status}", exec_type=x.exec_type)
        for x in layers
    ]
    for x, layer in zip(counted, layers, strict=True):
        x.real_time, x.cpu_time = timedelta(milliseconds=layer.real_ms), timedelta(milliseconds=layer.cpu_ms)
    said = report(one, ASKED)
    for kind in (CsvStatisticsReport, JsonStatisticsReport):
        dumping = kind(theirs)
        for category, table in zip(StatisticsReport.Category, said.values(), strict=True):
            dumping.add_parameters(category, list(table.items()))
        dumping.dump()
        dumping.dump_performance_counters([counted])
    for name in ("report", "average_counters_report"):
        own, other = (tmp_path / f"benchmark_{name}{end}" for end in ("_CPU.csv", ".csv"))
        assert own.read_text().rstrip() == other.read_text().rstrip()
        own, other = (json.loads((tmp_path / f"benchmark_{name}{end}").read_text()) for end in ("_CPU.json", ".json"))
        if "avg_performance" in own:
            assert own["avg_performance"].keys() == other["avg_performance"].keys()
            own, other = (found["avg_performance"].pop("nodes")[0] for found in (own, other))  # theirs has no others
        assert own == other


def test_a_report_folder_that_takes_no_files_is_told_first(ovplace, finished, tmp_path, monkeypatch):
    monkeypatch.setattr(benchmark_module, "isolated_call", lambda *_: pytest.fail("a candidate runs"))
    (tmp_path / "taken").touch()
    options = ("-niter", "1", "-report_type", "no_counters", "-report_folder", tmp_path / "taken")
    done = ovplace("benchmark", finished[0], *options)
    assert done.code == 1
    assert "taken': File exists; choose another -report_folder" in done.err


def test_what_cannot_be_run_is_a_row_and_an_error(ovplace, finished, monkeypatch):
    def failing(what, *_, **__):
        if PLACEMENT in what:
            raise BackendError("no memory is left")
        return TIMES

    monkeypatch.setattr(benchmark_module, "isolated_call", failing)
    done = ovplace("benchmark", finished[0], "-niter", "5")
    assert done.code == 1
    assert "[ INFO ] the placement\n[ ERROR ] no memory is left\n" in done.out
    assert "Error: the placement could not be run; the reasons stand in the result" in done.err


def with_inputs(finished, folder, path):
    """Return the finished run as if it had been searched with the inputs in a file, and with seed 7."""
    shutil.copytree(finished[0], folder)
    run = RunFolder(folder)
    config = run.read_config()
    run.write_config(replace(config, search=replace(config.search, input=str(path), seed=7)))
    return folder


def test_inputs_and_seed_are_those_of_the_run(finished, tmp_path, monkeypatch):
    loads = []

    def noting(*given, **_):
        loads.append(given[-1])
        return TIMES

    monkeypatch.setattr(benchmark_module, "isolated_call", noting)
    inputs, other = tmp_path / "inputs.npz", tmp_path / "other.npz"
    inputs.touch()
    other.touch()
    run = with_inputs(finished, tmp_path / "run", inputs)
    benchmark(run, Load(n_iterations=5), silent)
    assert set(loads) == {Load(n_iterations=5, input_path=str(inputs), seed=7)}
    loads.clear()
    benchmark_run(run, "1s", "sync", 0, False, other)
    assert {load.input_path for load in loads} == {str(other)}


@pytest.mark.parametrize(("load", "working_s"), [(Load(time_s=900.0), 900.0), (Load(n_iterations=5), math.inf)])
def test_a_candidate_may_take_the_time_that_was_asked_for(finished, monkeypatch, load, working_s):
    given = []

    def noting(*_, **limits):
        given.append(limits)
        return TIMES

    monkeypatch.setattr(benchmark_module, "isolated_call", noting)
    benchmark(finished[0], load, silent)
    assert given
    assert all(limits == {"working_s": working_s} for limits in given)


@pytest.mark.usefixtures("impatient")
def test_nothing_is_timed_beside_a_worker_and_no_worker_starts_meanwhile(finished, monkeypatch):
    def beside(*_, **__):
        with pytest.raises(InUseError, match="has to end first"), for_worker():
            pass
        return TIMES

    monkeypatch.setattr(benchmark_module, "isolated_call", beside)
    with for_worker(), pytest.raises(InUseError, match="measure for a fleet"):
        benchmark(finished[0], Load(n_iterations=1), silent)
    assert benchmark(finished[0], Load(n_iterations=1), silent)


def test_inputs_that_have_moved_are_named(ovplace, finished, tmp_path):
    run = with_inputs(finished, tmp_path / "run", tmp_path / "gone.npz")
    done = ovplace("benchmark", run, "-niter", "1")
    assert (done.code, done.out) == (2, "")
    assert "gone.npz' do not exist; check the path, or name another file with -i" in done.err
    np.savez(tmp_path / "here.npz", x=np.ones((1, 3, 8, 8), np.float32))
    found = data(ovplace("benchmark", run, "-niter", "1", "-i", tmp_path / "here.npz", "--json"))
    assert found[PLACEMENT]["cmd_options"]["-i"] == str(tmp_path / "here.npz")


def test_the_arrays_of_the_file_are_what_runs(finished, tmp_path, monkeypatch):
    filled, fill = [], ov.InferRequest.set_tensor

    def spy(request, port, tensor):
        filled.append(tensor.data.copy())
        fill(request, port, tensor)

    monkeypatch.setattr(ov.InferRequest, "set_tensor", spy)
    inputs = tmp_path / "inputs.npz"
    np.savez(inputs, x=np.full((1, 3, 8, 8), 7, np.float32))
    time_requests(finished[0], [], "CPU", Load("async", 2, 1, 0.0, input_path=str(inputs)))
    assert [np.unique(array).tolist() for array in filled] == [[7.0], [7.0]]


def test_inputs_that_fit_the_first_state_only_run_with_it(tmp_path):
    ov.save_model(models.prompt(), tmp_path / "model.xml")
    prepare(tmp_path / "model.xml", tmp_path / "prepared.xml")
    names = [op.get_friendly_name() for op in ov.Core().read_model(tmp_path / "prepared.xml").get_ops()]
    write_placed(tmp_path / "prepared.xml", tmp_path, dict.fromkeys(names, "CPU"), [Device("CPU", "CPU")], {})
    for api, n in (("sync", 3), ("async", 4)):
        assert len(time_requests(tmp_path, [], "CPU", Load(api, 2, 3, 0.0)).latencies_ms) == n


@pytest.mark.skipif(not APP, reason="no benchmark_app")
def test_the_keys_are_benchmark_apps(ovplace, finished, tmp_path):
    theirs, ours = tmp_path / "theirs", tmp_path / "ours"
    options = ["-niter", "3", "-report_type", "no_counters", "-json_stats", "-report_folder"]
    theirs.mkdir()
    command = [str(APP), "-m", finished[0] / "placed.xml", "-d", "CPU", "-hint", "latency", *options, theirs]
    subprocess.run(command, check=True, capture_output=True)
    assert ovplace("benchmark", finished[0], *options, ours).code == 0
    app = json.loads((theirs / "benchmark_report.json").read_text())
    own = json.loads((ours / "benchmark_report_CPU.json").read_text())
    assert set(own) == set(app)
    assert set(own["execution_results"]) == set(app["execution_results"])
    assert set(own["configuration_setup"]) <= set(app["configuration_setup"])
    assert math.isclose(float(own["configuration_setup"]["duration (ms)"]), 0)


@pytest.mark.slow
@pytest.mark.skipif(not APP, reason="no benchmark_app")
def test_benchmark_app_refuses_compiled_models(tmp_path):
    """The guide says so; should this fail, an exported blob is a recipe for benchmark_app."""
    (tmp_path / "any.blob").touch()
    done = subprocess.run(
        [str(APP), "-m", tmp_path / "any.blob", "-d", "CPU"], capture_output=True, text=True, check=False
    )
    assert "Cannot set precision for a compiled model" in done.stdout + done.stderr


@pytest.mark.parametrize(("option", "value"), [("-hint", "throughput"), ("-nstreams", "2"), ("-pc", "")])
def test_options_of_benchmark_app_that_are_not_taken_are_named(ovplace, finished, option, value):
    done = ovplace("benchmark", finished[0], option, value)
    assert done.code == 2
    assert f"'{option}'" in done.err


def test_a_simulated_run_is_refused(ovplace, tmp_path):
    run = tmp_path / "run"
    short = ("--placer", "cut", "--budget", "1")
    assert ovplace("optimize", "models/demo.xml", "--machine", "null", *short, "-o", run).code == 0
    done = ovplace("benchmark", run)
    assert done.code == 2
    assert "simulated machine null" in done.err
