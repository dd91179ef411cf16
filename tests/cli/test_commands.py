"""Each command prints its result on standard output, as a table and as JSON."""

import json
import os
import subprocess
import sys

import numpy as np
import openvino as ov
import pytest
from openvino import opset14 as ops

from ovplace.cli import COMMANDS
from ovplace.core.device import Device
from ovplace.devices import discover, doctor
from ovplace.devices.emulated_gpu import why_unavailable
from ovplace.plugins import registry
from ovplace.testing import fake_backend
from ovplace.testing.slow import slow_except

HEAVY = ("openvino", "numpy", "rich", "scipy", "torch", "networkx")


def data(done):
    assert done.code == 0, done.err
    return json.loads(done.out)


def test_help_imports_nothing_heavy():
    code = (
        "import sys\nfrom ovplace.cli import main\n"
        "for words in (['ablate', '--help'], ['--help']):\n"
        "    try:\n        main(words)\n    except SystemExit as end:\n        assert end.code == 0\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"
    assert "Usage: ovplace ablate" in done.stdout
    assert all(f"\n  {name} " in done.stdout for name in COMMANDS)


def test_the_package_runs_as_a_module():
    command = [sys.executable, "-m", "ovplace", "optimise"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert "did you mean 'optimize'?; see 'ovplace --help'" in done.stderr


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help(ovplace, name):
    done = ovplace(name, "-h")
    assert (done.code, done.err) == (0, "")
    assert f"Usage: ovplace {name}" in done.out


def test_version(ovplace):
    from ovplace import __version__

    assert ovplace("--version").out == f"ovplace {__version__}\n"


def test_inspect(ovplace, tiny):
    found = data(ovplace("inspect", tiny, "--json"))
    model = ov.Core().read_model(tiny)
    assert found["operations_before"] == len(model.get_ops())
    assert found["operations"] == sum(found["types"].values())
    assert found["types"]["Convolution"] == 2
    assert [(i["name"], i["shape"]) for i in found["inputs"]] == [("x", "[1,3,8,8]")]
    assert 1 <= found["groups"] <= found["legal_groups"] <= found["operations"]
    text = ovplace("inspect", tiny, "--coarsener", "none").out
    assert found["hash"] in text
    assert "coarsener 'none'" in text


def test_inspect_says_what_each_device_can_run(ovplace, inverse):
    found = {device["name"]: device for device in data(ovplace("inspect", inverse, "--json"))["devices"]}
    assert found["CPU"]["supported"] == found["CPU"]["computing"] == 3
    assert found["CPU"]["unsupported"] == {}
    text = ovplace("inspect", inverse).out
    assert "3 of 3 operations that compute " in text
    if not why_unavailable():
        assert found["GPU"]["unsupported"] == {"Inverse": 1}
        assert "1 Inverse" in text


def test_devices_say_how_an_npu_is_treated(ovplace):
    assert "NPU: an NPU takes part only where -d names it, as in -d NPU,CPU" in ovplace("devices").out
    assert "-d NPU,CPU" in data(ovplace("devices", "--json"))["npu"]


def test_devices_tells_what_is_missing_and_the_command_that_fixes_it(ovplace, monkeypatch):
    bad = doctor.Finding("GPU", good=False, text="no permission", command="sudo usermod -a -G render $USER")
    fine = doctor.Finding("NPU", good=True, text="there is no Intel NPU")
    monkeypatch.setattr(doctor, "lacking", lambda *_: (bad, fine))
    said = ovplace("devices").out
    assert said.endswith("Missing GPU: no permission\n    sudo usermod -a -G render $USER\n")
    (missing,) = data(ovplace("devices", "--json"))["missing"]
    assert missing == {"device": "GPU", "text": "no permission", "command": "sudo usermod -a -G render $USER"}


def test_devices_are_listed_also_where_none_can_be_used(ovplace, monkeypatch):
    broken = Device("CPU", "CPU", facts={"full_name": "a processor", "problem": "the plugin cannot be loaded"})
    monkeypatch.setattr(discover, "discover", lambda _: (broken,))
    done = ovplace("devices")
    assert done.code == 0, done.err
    assert "the plugin cannot be loaded" in done.out
    assert "Without -d: none (OpenVINO finds no device it can use here; see 'ovplace doctor')" in done.out
    assert data(ovplace("devices", "--json"))["default"]["devices"] == []


def test_devices(ovplace):
    found = data(ovplace("devices", "--json"))
    assert "CPU" in [device["name"] for device in found["devices"]]
    text = ovplace("devices").out
    for device in found["devices"]:
        assert device["facts"]["full_name"] in text
        assert device["emulated"] == ("emulated" in device["facts"]["full_name"])
    assert text.count("f16; ovplace uses f32\n") == sum(device["emulated"] for device in found["devices"])


def test_models(ovplace, tmp_path):
    listed = {model["name"]: model for model in data(ovplace("models", "list", "--json"))}
    assert "width" in [option["name"] for option in listed["siren"]["options"]]
    text = ovplace("models", "list").out
    assert all(model["summary"] in text for model in listed.values())
    build = ("models", "build", "siren", "--set", "width=8", "--set", "size=16", "--json", "-q")
    (full,) = data(ovplace(*build, "-o", tmp_path / "f32"))
    (half,) = data(ovplace(*build, "-o", tmp_path / "f16", "--fp16"))
    assert half["weight_bytes"] < full["weight_bytes"]
    assert len(ov.Core().read_model(full["path"]).get_ops()) == full["ops"]


def test_placers(ovplace):
    found = data(ovplace("placers", "--all", "--json"))
    assert set(found) == {"placers", "coarseners", "features", "backends", "exporters"}
    grid = next(entry for entry in found["placers"] if entry["name"] == "cut")["settings"][0]
    assert (grid["name"], grid["default"]) == ("grid", 8)
    assert all(s["doc"] for entries in found.values() for entry in entries for s in entry["settings"])
    text = ovplace("placers").out
    assert "grid = 8" in text
    assert "uniform = true " in text  # as in TOML
    assert 'policy = "" ' in text


def test_placers_have_their_settings_that_nothing_explains(ovplace, monkeypatch):
    cut = registry.load("placers", "cut")
    monkeypatch.setattr(cut.Config, "__doc__", "Nothing is said of its settings.")
    assert "    grid = 8 " in ovplace("placers").out


def test_measure_says_that_outputs_are_infinitely_off(ovplace, tiny):
    faulty = ("--backend", fake_backend.NAME, "--set", "backend.fault=nan_outputs", "--set", "backend.on=all")
    header, _, row, *_ = ovplace("measure", tiny, "-d", "CPU", *faulty).out.splitlines()
    at = header.index("output error")
    assert row[at : at + len("output error")].strip() == "inf"


def test_measure(ovplace, tmp_path, finished, quick):
    np.savez(tmp_path / "in.npz", x=np.ones((1, 3, 8, 8), np.float32))
    folder, _ = finished
    arguments = ("measure", folder / "placed.xml", *quick[:2], *quick[6:], "--placement", folder / "placement.json")
    found = data(ovplace(*arguments, "-q", "--json", "-i", tmp_path / "in.npz"))
    assert [row["name"] for row in found["measured"]] == ["CPU_A", "CPU", "the placement"]
    for row in found["measured"]:
        latency = row["latency_ms"]
        assert latency["samples"] < latency["p99_needs"] == 662
        assert latency["p99"] is None
        assert row["max_rel_error"] < 1e-3
    assert found["notes"] == []
    text = ovplace("measure", folder / "placed.xml", "-d", f"HETERO:{quick[1]}", *quick[6:]).out
    assert "HETERO:CPU_A,CPU (automatic)" in text


def test_outputs_without_a_finite_value_are_named(ovplace, tmp_path, quick):
    x = ops.parameter([4], np.float32, name="x")
    logarithm = ops.log(x)
    logarithm.output(0).set_names({"logarithm"})
    ov.save_model(ov.Model([logarithm], [x]), tmp_path / "model.xml")
    for name, value in (("positive", 1), ("negative", -1)):
        np.savez(tmp_path / f"{name}.npz", x=np.full(4, value, np.float32))
    run, negative = tmp_path / "run", ("-q", "-i", tmp_path / "negative.npz")
    assert ovplace("optimize", tmp_path / "model.xml", "-o", run, *quick, "-i", tmp_path / "positive.npz").code == 0
    (note,) = data(ovplace("measure", run / "placed.xml", *quick[:2], *quick[6:], *negative, "--json"))["notes"]
    assert note.startswith("no value of logarithm is finite on the CPU with these inputs: ")
    assert f"\nNote: {note}.\n" in ovplace("check", run, *negative).out


def test_placements_are_measured_in_turns(ovplace, tmp_path, finished, quick):
    (folder, _), devices = finished, (*quick[:2], *quick[6:])
    table = json.loads((folder / "placement.json").read_text())
    (tmp_path / "other.json").write_text(json.dumps(dict.fromkeys(table, "CPU")))
    (tmp_path / "wrong.json").write_text(json.dumps(dict.fromkeys(table, "NPU")))
    names = [str(folder / "placement.json"), str(tmp_path / "other.json")]
    arguments = ["measure", folder / "placed.xml", *devices, "--placement", names[0], "--placement"]
    found = data(ovplace(*arguments, names[1], "-q", "--json"))
    assert [row["name"] for row in found["measured"]][-2:] == names
    failed = ovplace(*arguments, tmp_path / "wrong.json")
    assert f"{tmp_path / 'wrong.json'}: the placement uses device 'NPU'" in failed.err


FAKE = [
    *("-q", "--backend", fake_backend.NAME, "-d", "CPU_A=CPU,CPU"),
    *("--set", "comparison.min_time_ms=0", "--set", "measure.warmup=0"),
]


@pytest.mark.parametrize("rigorous", [[], pytest.param(["--rigorous"], marks=pytest.mark.slow)])
def test_a_placement_that_crashes_the_process_fails_alone(ovplace, tmp_path, tiny, rigorous):
    table = data(ovplace("explain", tiny, "-q", "-d", "CPU_A=CPU,CPU", "--json"))["placement"]
    split = {name: ("CPU_A", "CPU")[number % 2] for number, name in enumerate(table)}
    (tmp_path / "split.json").write_text(json.dumps(split))
    fault = ("--set", "backend.fault=segfault", "--set", "backend.on=split")
    done = ovplace("measure", tiny, *FAKE, *fault, *rigorous, "--placement", tmp_path / "split.json", "--json")
    assert done.code == 0
    assert [(row["name"], row["error"]) for row in data(done)["measured"]] == [
        ("CPU_A", None),
        ("CPU", None),
        ("the placement", "crash: the measuring process ended (killed by SIGSEGV)"),
    ]


def test_json_has_no_infinite_numbers_and_no_nan(ovplace, tiny):
    text = ovplace(
        "measure", tiny, *FAKE, "--set", "backend.fault=nan_outputs", "--set", "backend.on=all", "--json"
    ).out
    (first, _) = json.loads(text, parse_constant=pytest.fail)["measured"]
    assert first["outputs"] == [{"name": "y", "max_abs": None, "max_rel": None, "cosine": None}]


SIMULATED = (
    *("-q", "--machine", "i9-12900k+flex170"),
    *("--set", "measure.min_time_ms=0", "--set", "comparison.min_time_ms=0"),
)


def test_a_percentile_of_too_few_samples_is_not_given_and_the_number_needed_is(ovplace, tiny):
    text = ovplace("measure", tiny, *SIMULATED).out
    assert "p99 needs 662 samples, there are 24 of GPU (simulated), CPU (simulated): --rigorous" in text
    assert text.count("p99 needs") == 1


@pytest.mark.slow
def test_a_rigorous_measurement_gives_every_percentile(ovplace, tiny):
    for row in data(ovplace("measure", tiny, *SIMULATED, "--rigorous", "--json"))["measured"]:
        latency = row["latency_ms"]
        assert latency["samples"] == 20 * 8 * 5
        assert 0 < latency["ci95"][0] <= latency["median"] <= latency["ci95"][1]
        assert latency["median"] < latency["p90"]["value"] < latency["p95"]["value"] < latency["p99"]["value"]
        assert all(p["ci95"][0] <= p["value"] <= p["ci95"][1] for p in (latency["p90"], latency["p95"], latency["p99"]))


def test_a_failing_device_is_a_row_and_nothing_at_all_an_error(ovplace, tiny, quick, monkeypatch):
    from ovplace.core.measurement import ErrorKind, Measurement
    from ovplace.measuring.process_pool import ProcessPool

    failure = Measurement.failed(ErrorKind.COMPILE, "no such kernel")
    monkeypatch.setattr(ProcessPool, "measure", lambda self, candidates, spec: [failure] * len(candidates))
    done = ovplace("measure", tiny, "-q", *quick[:2])
    assert done.code == 1
    assert "no such kernel" in done.out
    assert done.err.startswith("Error: nothing could be measured")


def test_dry_run_writes_nothing(ovplace, tmp_path, tiny, quick):
    found = data(ovplace("optimize", tiny, "-o", tmp_path / "run", *quick, "--dry-run", "--json"))
    assert (found["placements"], found["rounds"], found["devices"]) == (3, 2, ["CPU_A", "CPU"])
    assert found["seconds"] > 0.5
    many = [*quick, "--budget", "10000", "--dry-run", "--json"]
    assert data(ovplace("optimize", tiny, *many))["seconds"] > 30
    assert data(ovplace("optimize", tiny, *many, "--time", "30s"))["seconds"] <= 30
    assert "roughly" in ovplace("optimize", tiny, *quick, "--dry-run").out
    assert "none: nothing to compare" in ovplace("optimize", tiny, "-d", "CPU", "--dry-run").out
    assert not (tmp_path / "run").exists()


def test_a_dry_run_of_a_single_group_has_nothing_to_search(ovplace, tiny):
    done = ovplace("optimize", tiny, "--machine", "null", "--set", "coarsener.target=1", "--dry-run", "--json")
    found = data(done)
    assert [found[name] for name in ("groups", "placements", "race", "rounds", "compared")] == [1, 0, 0, 0, 0]
    assert found["baselines"] > len(found["devices"])


def test_dry_run_takes_the_inputs_that_are_given(ovplace, tmp_path, quick):
    x, size = ops.parameter([2, 6], np.float32, name="x"), ops.parameter([2], np.int64, name="size")
    model = ov.Model([ops.result(ops.reshape(ops.exp(x), size, special_zero=False))], [x, size])
    ov.save_model(model, tmp_path / "model.xml")
    np.savez(tmp_path / "inputs.npz", x=np.ones((2, 6), np.float32), size=np.array([3, 4]))
    dry = "optimize", tmp_path / "model.xml", *quick, "--dry-run"
    assert ovplace(*dry).code == 1
    assert "roughly" in ovplace(*dry, "-i", tmp_path / "inputs.npz").out


def test_nobody_reads_the_output(program):
    reader, writer = os.pipe()
    os.close(reader)  # gone before the first line
    done = subprocess.run([*program, "models", "list"], stdout=writer, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writer)
    assert (done.returncode, done.stderr) == (1, "")


@pytest.mark.parametrize("closed", slow_except(["<&- >&- 2>&-"], [">&-", "2>&-", "<&- >&- 2>&-"]))
def test_closed_streams_do_not_end_a_search(program, tmp_path, tiny, closed):
    search = [*program, "optimize", str(tiny), "-o", str(tmp_path / "run"), *SIMULATED[1:], "--budget", "2"]
    done = subprocess.run(
        ["bash", "-c", f'"$@" {closed}', "bash", *search], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "Error" not in done.stderr
    assert "Traceback" not in done.stderr
    assert bool(done.stdout) == (closed == "2>&-")
    assert (tmp_path / "run" / "result.json").exists()
