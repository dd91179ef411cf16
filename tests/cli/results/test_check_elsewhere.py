"""`ovplace check` of simulated runs, and of runs on the emulated GPU."""

from __future__ import annotations

import json
import subprocess

import pytest

from ovplace.devices.emulated_gpu import why_unavailable

pytestmark = pytest.mark.slow

QUIET = ("--set", "backend.noise=0", "--set", "comparison.rounds=2", "--set", "comparison.blocks=3")
QUICK = (
    *("--set", "measure.blocks=1", "--set", "measure.repeats=1", "--set", "measure.min_time_ms=0"),
    *("--set", "comparison.rounds=2", "--set", "comparison.blocks=3", "--set", "comparison.min_time_ms=0"),
)


def test_a_simulated_answer_holds_until_its_machine_is_another(ovplace, detector, uneven, tmp_path):
    run = tmp_path / "run"
    done = ovplace("optimize", detector, "-o", run, "--machine", uneven, "--placer", "cut", *QUIET)
    assert done.code == 0, done.err
    done = ovplace("check", run, "--json")
    assert done.code == 0, done.err
    report = json.loads(done.out)
    assert (report["runs"], report["holds"], report["changes"]) == (True, True, [])
    assert report["verdict"]["then"]["status"] == report["verdict"]["now"]["status"] == "faster"
    assert report["latency_ms"]["now"]["median"] == report["latency_ms"]["then"]["median"], "there is no noise"
    uneven.write_text(uneven.read_text().replace("Convolution = 0.5", "Convolution = 0.001"))
    done = ovplace("check", run)
    assert done.code == 3
    assert "does not hold here: it is slower than CPU" in done.err


@pytest.mark.skipif(why_unavailable() != "", reason="needs the emulated GPU")
def test_an_answer_on_the_emulated_gpu_is_checked_on_it(program, tiny, tmp_path):
    def ran(*arguments):
        command = [*program, *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)

    run = tmp_path / "run"
    done = ran("optimize", tiny, "-o", run, "-d", "GPU,CPU", "--placer", "cut", "--budget", "2", *QUICK)
    assert done.returncode == 0, done.stderr
    assert "GPU (emulated)" in done.stdout
    done = ran("check", run, "--json")
    assert done.returncode in (0, 3), done.stderr  # a busy machine may change the verdict, not what it is about
    report = json.loads(done.stdout)
    assert (report["runs"], report["changes"]) == (True, [])
    assert report["max_rel_error"]["now"] < report["max_rel_error"]["limit"]
