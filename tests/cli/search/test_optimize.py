"""The search through the command: result, continuing, interrupting, and what it exits with."""

import json
import os
import shutil
from dataclasses import replace

import numpy as np
import openvino as ov
from openvino import opset13 as ops

from ovplace.core.verdict import Status
from ovplace.measuring.process_pool import ProcessPool
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
    assert "for information only" in done.out
    assert "ovplace" in result["environment"]["command"]


def test_progress_without_a_terminal_is_plain_lines(finished):
    _, done = finished
    assert "baselines 0/" in done.err
    assert "search 3/3" in done.err
    assert "reading the model" not in done.err  # the bar alone says it
    assert "\x1b" not in done.err


def test_where_nothing_can_be_divided_nothing_is_searched(ovplace, quick, tmp_path):
    x = ops.parameter([1, 4], np.float32, name="x")
    ov.save_model(ov.Model([ops.result(x)], [x]), tmp_path / "through.xml")
    done = ovplace("optimize", tmp_path / "through.xml", *quick, "--placer", "min_cut", "-o", tmp_path / "run")
    assert done.code == 0, done.err
    assert "Note: there was nothing else to try." in done.out
    assert "profile" not in done.err and "search 1/" not in done.err


def test_the_same_command_shows_the_result_again_and_measures_nothing(ovplace, finished, tiny, quick, monkeypatch):
    monkeypatch.delattr(ProcessPool, "start")
    folder, _ = finished
    before, report = (folder / "result.json").read_text(), (folder / "report.html").stat().st_mtime_ns
    done = ovplace("optimize", tiny, "-o", folder, *quick, "--json")
    assert done.code == 0
    assert done.err == (f"the run in '{folder}' is finished (3 placements); a larger --budget continues it\n")
    assert json.loads(done.out) == json.loads(before)
    assert (folder / "report.html").stat().st_mtime_ns == report


def test_a_larger_budget_continues_and_measures_nothing_twice(ovplace, finished, tiny, quick, tmp_path):
    folder = tmp_path / "more"
    shutil.copytree(finished[0], folder)
    before = json.loads((folder / "result.json").read_text())
    done = ovplace("optimize", tiny, "-o", folder, *quick, "--budget", "5", "--json", "--debug")
    assert done.err.startswith(f"continuing the run in '{folder}'\n")
    assert done.code == 0, done.err
    after = json.loads(done.out)
    assert after["search"]["trials"] == 5
    # The final comparison may have another candidate; what was measured before it has not changed.
    assert [b["latency_ms"] for b in after["baselines"]] == [b["latency_ms"] for b in before["baselines"]]
    assert ovplace("optimize", tiny, "-o", folder, *quick).err.startswith(f"the run in '{folder}' is finished")


def test_a_report_that_cannot_be_written_costs_no_result(ovplace, finished, tiny, quick, tmp_path):
    folder = tmp_path / "run"
    shutil.copytree(finished[0], folder)
    (folder / "report.html").unlink(missing_ok=True)
    (folder / "report.html").mkdir()
    os.utime(folder / "report.html", (0, 0))  # older than the result
    done = ovplace("optimize", tiny, "-o", folder, *quick, "--json")
    assert done.code == 0, done.err
    assert "Warning: the run is finished, but its report is not written" in done.err
    assert json.loads(done.out)["best"]


def test_a_second_search_in_the_folder_ends_at_once_and_names_the_first(ovplace, finished, tiny, quick):
    folder, _ = finished
    with RunFolder(folder).locked():
        done = ovplace("optimize", tiny, "-o", folder, *quick, "--budget", "9")
        assert (done.code, done.out) == (1, "")
        assert done.err.startswith(f"Error: the run in '{folder}' is being searched by process {os.getpid()} since ")
        assert len(done.err.splitlines()) == 1
        for command in (("show", folder), ("export", folder, "--to", "json")):
            assert ovplace(*command).code == 0


def test_a_required_gain_that_is_not_there(ovplace, finished, tiny, quick, monkeypatch):
    folder, _ = finished
    from ovplace.api import searching

    result = RunFolder(folder).read_result()
    verdicts = {status: replace(result, verdict=replace(result.verdict, status=status)) for status in Status}
    monkeypatch.setattr(searching, "run", lambda *_: verdicts[Status.BASELINE])
    done = ovplace("optimize", tiny, "-q", "-o", folder, *quick, "--require-gain")
    assert done.code == 3
    assert "Files in" in done.out
    assert done.err.startswith("Error: no placement was shown to be faster than")
    monkeypatch.setattr(searching, "run", lambda *_: verdicts[Status.FASTER])
    assert ovplace("optimize", tiny, "-q", "-o", folder, *quick, "--require-gain", "--json").code == 0
