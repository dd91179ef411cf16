"""The search through the command: result, continuing, interrupting, and what it exits with."""

import json
import signal
import subprocess
from dataclasses import replace

import numpy as np
import openvino as ov
import pytest
from openvino import opset13 as ops

from ovplace.core.verdict import Status
from ovplace.store.run_folder import RunFolder


def test_result_and_files(finished):
    folder, done = finished
    result = json.loads((folder / "result.json").read_text())
    for baseline in result["baselines"]:
        assert baseline["name"] in done.out
    for name in ("placed.xml", "placed.bin", "placement.json", "result.json"):
        assert name in done.out
        assert (folder / name).exists()
    assert f"ovplace.load('{folder}')" in done.out
    assert "does not compete" in done.out
    assert "ovplace" in result["environment"]["command"]


def test_progress_without_a_terminal_is_plain_lines(finished):
    _, done = finished
    assert "baselines 0/" in done.err
    assert "search 3/3" in done.err
    assert "\x1b" not in done.err


def test_where_nothing_can_be_divided_nothing_is_searched(ovplace, quick, tmp_path):
    x = ops.parameter([1, 4], np.float32, name="x")
    ov.save_model(ov.Model([ops.result(x)], [x]), tmp_path / "through.xml")
    done = ovplace("optimize", tmp_path / "through.xml", *quick, "--placer", "min_cut", "-o", tmp_path / "run")
    assert done.code == 0, done.err
    assert "Note: there was nothing else to try." in done.out
    assert "profile" not in done.err and "search 1/" not in done.err


def test_the_same_command_continues_and_measures_nothing_twice(ovplace, finished, tiny, quick):
    folder, _ = finished
    before = json.loads((folder / "result.json").read_text())
    done = ovplace("optimize", tiny, "-o", folder, *quick, "--json")
    assert done.code == 0
    assert done.err.startswith(f"continuing the run in '{folder}'\n")
    after = json.loads(done.out)
    assert after["verdict"] == before["verdict"]
    assert after["baselines"] == before["baselines"]


def test_a_required_gain_that_is_not_there(ovplace, finished, tiny, quick, monkeypatch):
    folder, _ = finished
    from ovplace import api

    result = RunFolder(folder).read_result()
    verdicts = {status: replace(result, verdict=replace(result.verdict, status=status)) for status in Status}
    monkeypatch.setattr(api, "run", lambda *_: verdicts[Status.BASELINE])
    done = ovplace("optimize", tiny, "-q", "-o", folder, *quick, "--require-gain")
    assert done.code == 3
    assert "Left in" in done.out
    assert done.err.startswith("Error: no placement is faster than")
    monkeypatch.setattr(api, "run", lambda *_: verdicts[Status.FASTER])
    assert ovplace("optimize", tiny, "-q", "-o", folder, *quick, "--require-gain", "--json").code == 0


@pytest.mark.parametrize(("moment", "begun"), [pytest.param("groups", False, marks=pytest.mark.slow), ("search", True)])
def test_interrupted_and_continued(program, tiny, tmp_path, quick, moment, begun):
    command = [*program, "optimize", str(tiny), "-o", str(tmp_path / "run"), "-v", *quick]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as run:
        said = []
        for line in run.stderr:
            said.append(line)
            if moment in line:
                break
        run.send_signal(signal.SIGINT)
        rest, out = run.stderr.read(), run.stdout.read()
    assert run.returncode == 130, said
    assert out == ""
    assert rest.splitlines()[-1].startswith("Error: stopped; everything measured is saved")
    assert "Traceback" not in rest
    again = subprocess.run([*command, "--json"], capture_output=True, text=True, check=True)
    assert ("continuing the run" in again.stderr) or not begun
    assert json.loads(again.stdout)["search"]["trials"] == 3
