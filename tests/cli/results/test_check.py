"""`ovplace check`: an answer holds until the machine, a driver or the files are others."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ovplace.api.run import open_run
from ovplace.api.searching import optimize
from ovplace.commands.checking import check as check_module
from ovplace.commands.checking.baseline_answer import BaselineAnswer
from ovplace.errors import UsageError
from ovplace.search.explore import limiting_baselines
from ovplace.session.deadline import Phase, TimeIsUpError
from ovplace.session.session import Session
from ovplace.store.run_folder import RunFolder
from ovplace.testing import fake_backend, models
from tests.whole_runs import PAIR, QUICK

SETTINGS = (*QUICK, "comparison.race=4", "comparison.finalists=2", "comparison.null_control=false")


def searched(folder, split):
    settings = (*SETTINGS, f"backend.split={split}")
    given = {"device": PAIR, "placer": "random", "budget": 3, "backend": fake_backend.NAME}
    return optimize(models.residual(), folder, settings=settings, progress=False, **given)


@pytest.fixture(scope="module")
def faster(tmp_path_factory):
    return searched(tmp_path_factory.mktemp("faster") / "run", 0.8)


@pytest.fixture(scope="module")
def slower(tmp_path_factory):
    return searched(tmp_path_factory.mktemp("slower") / "run", 1.2)


def elsewhere(run, folder, old="", new=""):
    """Return the same run where the backend has another setting, as after a change of the driver."""
    shutil.copytree(run.folder, folder)
    config = RunFolder(folder).config
    text = config.read_text()
    assert old in text
    config.write_text(text.replace(old, new))
    return open_run(folder)


def test_an_answer_holds_where_nothing_has_changed(ovplace, faster):
    before = {path.name: path.read_bytes() for path in faster.folder.iterdir()}
    done = ovplace("check", faster.folder)
    assert (done.code, done.out.splitlines()[-1]) == (0, "The answer holds."), done.err
    assert {path.name: path.read_bytes() for path in faster.folder.iterdir()} == before
    number = next(t.number for t in faster.trials if t.placement.hash == faster.best.hash)
    assert number > 0 and f"trial {number} against" in done.err


def test_a_placed_model_that_cannot_be_read_is_refused_and_stays(ovplace, tmp_path, faster):
    run = elsewhere(faster, tmp_path / "run")
    weights = RunFolder(run.folder).placed_model.with_suffix(".bin")
    weights.unlink()
    before = {path.name: path.read_bytes() for path in run.folder.iterdir()}
    done = ovplace("check", run.folder)
    assert (done.code, done.out) == (1, "")
    assert f"the weights file '{weights}' does not exist" in done.err
    assert {path.name: path.read_bytes() for path in run.folder.iterdir()} == before


def test_a_placement_on_a_device_that_the_run_did_not_have_is_refused(ovplace, tmp_path, faster):
    run = elsewhere(faster, tmp_path / "run")
    table = dict.fromkeys(run.placement, "NOPE")
    RunFolder(run.folder).placement.write_text(json.dumps(table))
    done = ovplace("check", run.folder)
    assert (done.code, done.out) == (1, "")
    assert "placement.json' names the device 'NOPE', the run was on " in done.err


def test_an_answer_that_no_program_can_load_does_not_hold(ovplace, tmp_path, faster):
    run = elsewhere(faster, tmp_path / "run")
    placed = RunFolder(run.folder).placed_model
    placed.write_text(placed.read_text().replace('<schema value="1"', '<schema value="99"'))
    done = ovplace("check", run.folder)
    assert (done.code, done.out) == (1, "")
    assert "is of version 99, this ovplace reads 1" in done.err


def test_a_run_of_a_fleet_is_checked_here(ovplace, tmp_path, faster):
    run = elsewhere(faster, tmp_path / "run", 'cluster = ""', 'cluster = "tls://127.0.0.1:1"')
    done = ovplace("check", run.folder)
    assert (done.code, done.out.splitlines()[-1]) == (0, "The answer holds."), done.err


def test_too_little_time_for_the_answer_after_that_of_the_baselines_says_nothing_about_it(ovplace, faster, monkeypatch):
    phases = []

    def no_time(measurer, *_):
        phases.append(measurer.phase)
        raise TimeIsUpError

    monkeypatch.setattr(check_module, "_measured_again", no_time)
    done = ovplace("check", faster.folder, "--time", "5s")
    assert (done.code, done.out) == (2, "")
    assert "5 s are not enough to measure the answer of" in done.err
    assert phases == [Phase.SEARCH]


def test_too_little_time_to_compare_an_answer_says_nothing_about_it(ovplace, slower, monkeypatch):
    def no_time(*_):
        raise TimeIsUpError

    monkeypatch.setattr(BaselineAnswer, "rounds", no_time)
    monkeypatch.setattr(Session, "start_afresh", lambda _: None)  # a process for each of twenty rounds
    done = ovplace("check", slower.folder, "--time", "60s")
    assert (done.code, done.out) == (2, "")
    assert "60 s are not enough to measure the answer of" in done.err


@pytest.mark.slow
def test_a_gain_that_is_gone(ovplace, tmp_path, faster):
    run = elsewhere(faster, tmp_path / "run", "split = 0.8", "split = 1.3")
    done = ovplace("check", run.folder, "--json")
    assert done.code == 3
    assert json.loads(done.out)["verdict"]["now"]["status"] == "baseline"
    assert "does not hold here: it is slower than CPU_A: ratio 1.300" in done.err


@pytest.mark.slow
@pytest.mark.parametrize(("split", "advice"), [("1.0", "check again with more time"), ("1.3", "search again with")])
def test_what_to_do_depends_on_whether_the_gain_is_refuted(ovplace, tmp_path, faster, split, advice):
    run = elsewhere(faster, tmp_path / "run", "split = 0.8", f"split = {split}")
    assert f"]; {advice}" in ovplace("check", run.folder).err.replace(" (98 %)", "")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("split = 0.8", "split = 1.0", "it is not shown to be faster than CPU_A"),
        ('fault = ""', 'fault = "fail"', "compile: refused"),
        ('fault = ""', 'fault = "wrong_outputs"', "output_mismatch: relative output error 3, allowed is 0.001"),
        ('fault = ""', 'fault = "segfault"', "crash"),
    ],
)
def test_what_may_have_changed(tmp_path, faster, old, new, problem):
    report = elsewhere(faster, tmp_path / "run", old, new).check(progress=False)
    assert not report.holds
    assert problem in report.problem
    assert report.to_json()["problem"] == report.problem


@pytest.mark.slow
def test_a_new_driver_alone_changes_nothing(tmp_path, faster):
    report = elsewhere(faster, tmp_path / "run", 'version = "1"', 'version = "2"').check(progress=False)
    assert report.holds
    assert [(change.name, change.then, change.now) for change in report.changes] == [("openvino", "fake 1", "fake 2")]


@pytest.mark.slow
def test_a_run_that_began_with_relative_paths_is_checked_and_measured_from_anywhere(tmp_path, monkeypatch):
    (tmp_path / "mine.toml").write_text(Path("configs/machines/two-gpus.toml").read_text(encoding="utf-8"))
    np.savez(tmp_path / "inputs.npz", x=np.ones((1, 3, 8, 8), np.float32))
    monkeypatch.chdir(tmp_path)
    files = {"machine": "mine.toml", "input": "inputs.npz"}
    optimize(models.residual(), "run", budget=2, settings=SETTINGS, progress=False, **files)
    monkeypatch.chdir("/")
    run = open_run(tmp_path / "run")
    assert run.check(progress=False).changes == ()
    assert run.measure(progress=False).failed is False
    moved = tmp_path / "moved" / "inputs.npz"
    moved.parent.mkdir()
    (tmp_path / "inputs.npz").rename(moved)
    with pytest.raises(UsageError, match=r"inputs\.npz' do not exist; check the path, or name another file with input"):
        run.check(progress=False)
    assert run.check(input=moved, progress=False).changes == ()
    assert run.measure(input=moved, progress=False).failed is False


def test_inputs_that_were_changed_are_told(ovplace, tmp_path):
    inputs = tmp_path / "inputs.npz"
    np.savez(inputs, x=np.ones((1, 3, 8, 8), np.float32))
    given = {"machine": "two-gpus", "budget": 2, "settings": SETTINGS, "progress": False}
    run = optimize(models.residual(), tmp_path / "run", input=str(inputs), **given)
    np.savez(inputs, x=np.zeros((1, 3, 8, 8), np.float32))
    assert [change.name for change in run.check(progress=False).changes] == ["inputs"]
    done = ovplace("check", run.folder, "-i", tmp_path / "none.npz")
    assert (done.code, "none.npz' do not exist" in done.err) == (2, True)


def test_a_simulated_machine_whose_file_was_changed_is_told(tmp_path):
    machine = tmp_path / "mine.toml"
    text = Path("configs/machines/two-gpus.toml").read_text(encoding="utf-8")
    machine.write_text(text)
    given = {"machine": str(machine), "budget": 2, "settings": SETTINGS, "progress": False}
    run = optimize(models.residual(), tmp_path / "run", **given)
    assert run.check(progress=False).changes == ()
    machine.write_text(text.replace("efficiency = 0.1", "efficiency = 0.2"))
    assert [change.name for change in run.check(progress=False).changes] == ["simulated machine"]


@pytest.mark.slow
def test_a_baseline_holds_until_what_lost_to_it_is_faster(tmp_path, slower):
    assert slower.check(progress=False).holds
    report = elsewhere(slower, tmp_path / "run", "split = 1.2", "split = 0.7").check(progress=False)
    assert "the placement that lost to it is faster than CPU_A: ratio 0.700" in report.problem


@pytest.mark.parametrize("split", [1.2, 1.05])
def test_a_lucky_figure_of_another_baseline_does_not_refute_the_answer(tmp_path, slower, monkeypatch, split):
    """At 1.05, what lost to CPU_A is faster than CPU_B, which the final comparison takes for the best baseline."""

    def lucky(*given):
        return [replace(b, ratio=b.ratio / 1.8) if b.name == "CPU_B" else b for b in limiting_baselines(*given)]

    monkeypatch.setattr(check_module, "limiting_baselines", lucky)
    report = elsewhere(slower, tmp_path / "run", "split = 1.2", f"split = {split}").check(progress=False)
    assert (report.holds, report.problem) == (True, "")
    assert report.latency_ms.value == pytest.approx(fake_backend.BASE_MS)


@pytest.mark.slow
def test_a_device_that_is_gone(tmp_path, faster):
    run = elsewhere(faster, tmp_path / "run")
    result = RunFolder(run.folder).result
    result.write_text(result.read_text().replace('"base": "CPU"', '"base": "CPU.7"'))
    report = open_run(run.folder).check(progress=False)
    assert "CPU.7" in report.problem
    assert report.to_json()["runs"] is False


@pytest.mark.slow
def test_real_inferences(tmp_path):
    given = {"device": PAIR, "placer": "random", "budget": 2}
    run = optimize(models.residual(), tmp_path / "run", settings=SETTINGS, progress=False, **given)
    report = run.check(progress=False)
    assert report.runs
    assert report.changes == ()
    assert report.max_rel_error < report.limit == 1e-3


def test_only_finished_runs_are_checked(ovplace, tmp_path):
    done = ovplace("check", tmp_path / "none")
    assert done.code == 1
    assert "there is no run folder" in done.err
