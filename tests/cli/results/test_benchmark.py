"""`ovplace benchmark` runs the answer and its baselines as benchmark_app does, and reports what it reports."""

import csv
import json
import math
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ovplace.commands.benchmark import PLACEMENT, Benchmarked
from ovplace.core.device import Device
from ovplace.ir.placed_model import write_placed
from ovplace.ir.timing.requests import RequestTimes

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


def test_async_runs_whole_rounds_of_its_requests(ovplace, finished):
    found = data(ovplace("benchmark", finished[0], "-niter", "5", "-api", "async", "-nireq", "2", "--json"))
    for one in found.values():
        assert isinstance(one, dict), one
        assert one["configuration_setup"]["number of parallel infer requests"] == "2"
        assert one["execution_results"]["total number of iterations"] == "6"


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


def test_reports(ovplace, finished, tmp_path):
    options = ("-niter", "3", "-report_type", "average_counters", "-report_folder", tmp_path / "r")
    assert ovplace("benchmark", finished[0], *options, "-json_stats").code == 0
    found = json.loads((tmp_path / "r" / "benchmark_report_the_placement.json").read_text())
    results = found["execution_results"]
    assert results["total number of iterations"] == "3"
    assert float(results["min latency"]) <= float(results["latency (ms)"]) <= float(results["max latency"])
    layers = json.loads((tmp_path / "r" / "benchmark_average_counters_report_CPU.json").read_text())["layers"]
    assert {"conv0", "sum"} <= set(layers)
    assert ovplace("benchmark", finished[0], *options).code == 0
    lines = (tmp_path / "r" / "benchmark_report_CPU.csv").read_text().splitlines()
    rows = list(csv.reader(lines, delimiter=";"))
    assert ["total number of iterations", "3"] in rows


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
    assert ovplace("optimize", "models/demo.xml", "--machine", "null", "--placer", "cut", "--budget", "1", "-o", run)
    done = ovplace("benchmark", run)
    assert done.code == 2
    assert "simulated machine null" in done.err
