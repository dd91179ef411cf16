"""Simulated machines on the command line: a search, measuring, what is said of it, what is refused."""

import json
import re
from pathlib import Path

import pytest

from ovplace.core.result.labels import marked
from ovplace.simulation.machine_file import machine_names

SHORT = [
    *("--placer", "local_search", "--budget", "6"),
    *("--set", "measure.min_time_ms=0", "--set", "comparison.min_time_ms=0"),
    *("--set", "comparison.rounds=2", "--set", "comparison.blocks=3", "--set", "comparison.finalists=1"),
]


def test_a_search_says_that_it_is_simulated_wherever_results_appear(ovplace, detector, tmp_path):
    run = tmp_path / "run"
    command = ["optimize", detector, "-o", run, "--machine", "i9-12900k+flex170", *SHORT]
    done = ovplace(*command)
    assert done.code == 0, done.err
    assert done.err.startswith("simulated machine i9-12900k+flex170: GPU is Intel Data Center GPU Flex 170 (simulated)")
    for line in done.out.splitlines()[2:7]:
        assert "(simulated)" in line
    assert "All figures are simulated, on the machine i9-12900k+flex170" in done.out
    result = json.loads((run / "result.json").read_text())
    assert result["environment"]["simulated"] == "i9-12900k+flex170"
    assert [device["name"] for device in result["devices"]] == ["GPU", "CPU"]
    for device in result["devices"]:
        assert device["full_name"].endswith("(simulated)")
    assert result["verdict"]["null_control"] is None
    assert result["accuracy"]["reference"] == ""
    assert '"simulated": "i9-12900k+flex170"' in (run / "placed.xml").read_text().replace("&quot;", '"')
    for folder in (run, tmp_path / "another"):  # continued; and anew, from the same seed
        again = json.loads(ovplace("optimize", detector, "-o", folder, *command[4:], "--json").out)
        for part in ("verdict", "best", "baselines"):
            assert again[part] == result[part]
    for other in (
        ["-d", "CPU"],
        ["--machine", "two-gpus"],
        ["--machine", "i9-12900k+flex170", "--set", "backend.noise=0"],
    ):
        refused = ovplace("optimize", detector, "-o", run, *other, *SHORT)
        assert refused.code == 2
        assert "holds another run" in refused.err


def test_a_real_run_is_not_continued_as_a_simulated_one(ovplace, finished, tiny, quick):
    folder, _ = finished
    done = ovplace("optimize", tiny, "-o", folder, *quick[2:], "--machine", "null")
    assert done.code == 2
    assert "search.backend" in done.err


def test_a_search_finds_what_a_machine_has_to_offer(ovplace, detector, uneven, tmp_path):
    quiet = ["--set", "backend.noise=0", "--set", "comparison.rounds=2", "--set", "measure.min_time_ms=0"]
    run = tmp_path / "run"
    done = ovplace("optimize", detector, "-o", run, "--machine", uneven, "--placer", "cut", "--json", *quiet)
    assert done.code == 0, done.err
    result = json.loads(done.out)
    assert result["verdict"]["status"] == "faster"
    assert result["verdict"]["ratio"] < 0.9
    assert len(result["best"]["submodels"]) > 1


def test_a_machine_that_has_changed_since_is_refused(ovplace, detector, uneven, tmp_path):
    text = uneven.read_text()
    call = ["optimize", detector, "-o", tmp_path / "run", "--machine", uneven, *SHORT]
    assert ovplace(*call).code == 0
    uneven.write_text(text + "\n")
    assert ovplace(*call).code == 0, "the same machine, written differently"
    uneven.write_text(text.replace("latency_us = 1", "latency_us = 2"))
    done = ovplace(*call)
    assert done.code == 2
    assert "has changed since the run" in done.err


def test_measure(ovplace, detector):
    done = ovplace("measure", detector, "--machine", "core-ultra", "-d", "HETERO:CPU,GPU")
    assert done.code == 0, done.err
    assert "simulated machine core-ultra" in done.err
    rows = [line for line in done.out.splitlines()[2:] if not line.startswith("p99 needs ")]
    assert len(rows) == 3
    for row in rows:
        name, *_, submodels = re.split(" {2,}", row)
        assert "(simulated)" in name and "(simulated)" in submodels
    data = json.loads(ovplace("measure", detector, "--machine", "core-ultra", "-d", "CPU", "--json").out)
    assert [device["full_name"] for device in data["devices"]] == ["Intel Core Ultra 7 155H (simulated)"]
    assert data["environment"]["simulated"] == "core-ultra"


def test_dry_run(ovplace, detector, tmp_path):
    done = ovplace("optimize", detector, "--machine", "null", "--dry-run", "--json")
    plan = json.loads(done.out)
    assert plan["devices"] == ["GPU.0", "GPU.1"]
    assert plan["compared"] == 2
    assert "simulated machine" in plan["note"]
    assert "is not known" in plan["basis"]
    assert plan["seconds"] > 0
    assert "--jobs" not in done.err
    (inputs := tmp_path / "inputs.npz").touch()
    both = ovplace("optimize", detector, "--machine", "null", "--dry-run", "--json", "--jobs", "2", "-i", inputs)
    assert "note: --jobs is the number of models at the same time, and there is one" in both.err
    assert json.loads(both.out)["note"].endswith("; no inference is run, and the inputs are not read")


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--machine", "i9"], 2, "there are: " + ", ".join(machine_names())),
        (["--machine", "cor-ultra"], 2, "did you mean 'core-ultra'?"),
        (["--machine", "null", "--backend", "openvino"], 2, "leave one of them out"),
        (["--machine", "null", "-d", "GPU.0,CPU"], 1, "device 'CPU' is not on the simulated machine 'null'"),
        (["--machine", "null", "-d", "GPU.0{NUM_STREAMS:1}"], 2, "a simulated one has none"),
        (["--machine", "null", "--emulate-gpu"], 2, "--emulate-gpu is of real devices"),
        (["--backend", "simulate", "--set", "devices.CPU_A.base=CPU"], 2, "[devices] is of real devices"),
        (["--machine", "null", "--set", "backend.speed=3"], 2, "unknown key 'backend.speed' of the backend 'simulate'"),
        (["--machine", "null", "--set", "backend.noise=-3"], 2, "must not be negative"),
    ],
)
@pytest.mark.parametrize("dry", [[], pytest.param(["--dry-run"], marks=pytest.mark.slow)])
def test_what_is_refused(ovplace, detector, tmp_path, arguments, code, said, dry):
    done = ovplace("optimize", detector, "-o", tmp_path / "run", *arguments, *dry)
    assert done.code == code, done.err
    assert said in done.err
    assert done.err.count("\n") <= 2
    assert not Path(tmp_path / "run" / "config.toml").exists()


def test_a_broken_machine_file_is_named_with_its_place(ovplace, detector, uneven, tmp_path):
    uneven.write_text(uneven.read_text().replace("peak_gflops = 300", "peak_tflops = 3", 1))
    done = ovplace("optimize", detector, "-o", tmp_path / "run", "--machine", uneven)
    assert done.code == 2
    assert "mine.toml: devices.GPU.peak_tflops" in done.err


def test_words_of_devices():
    assert marked("HETERO:GPU,CPU", {"GPU": True, "CPU": False}, simulated=False) == "HETERO:GPU (emulated),CPU"
    assert marked("GPU.0", {"GPU.0": False}, simulated=True) == "GPU.0 (simulated)"
    paths = "runs/GPU/placement.json, GPU-first.json"
    assert marked(paths, {"GPU": True}, simulated=False) == paths
