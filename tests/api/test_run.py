"""A finished run in Python: what it says, shows and writes."""

from __future__ import annotations

import builtins
import dataclasses
import json
import subprocess
import sys

import numpy as np
import openvino as ov
import pytest

import ovplace
from ovplace.api.summary import html
from ovplace.api.trials import trials_frame
from ovplace.core.measurement import ErrorKind, Measurement, Trial
from ovplace.core.placement import Placement
from ovplace.core.statistics import Interval
from ovplace.devices import emulated_gpu
from ovplace.errors import ExportWarning, PlacementError, UsageError
from ovplace.store.run_folder import RunFolder
from ovplace.testing import fake_backend, models
from ovplace.testing.results import baseline_summary, run_result
from tests.whole_runs import PAIR, QUICK


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    settings = (*QUICK, "backend.split=0.8")
    given = {"device": PAIR, "placer": "random", "budget": 6, "backend": fake_backend.NAME}
    return ovplace.optimize(models.residual(), folder / "run", settings=settings, **given)


def test_it_is_what_its_folder_says(run):
    opened = ovplace.open_run(run.folder)
    assert {opened} == {run}
    assert opened.best == RunFolder(run.folder).read_result().best
    assert opened.to_json() == json.loads((run.folder / "result.json").read_text())


def test_its_placement_is_the_answer(run):
    assert run.placement == json.loads((run.folder / "placement.json").read_text())
    assert set(run.placement.values()) == {"CPU_A", "CPU_B"}


def test_its_trials_are_those_of_the_search(run):
    assert [trial.number for trial in run.trials] == list(range(run.search.trials))
    assert {trial.origin for trial in run.trials} == {"random"}
    assert run.best.hash in {trial.placement.hash for trial in run.trials}
    assert all(isinstance(trial.placement, Placement) for trial in run.trials)


def test_its_trials_as_a_data_frame(run):
    frame = run.trials_frame()
    assert list(frame.index) == [trial.number for trial in run.trials]
    assert frame["latency_ms"].tolist() == [trial.measurement.median_ms for trial in run.trials]
    on_devices = frame[["ops on CPU_A", "ops on CPU_B"]].sum(axis=1)
    assert set(on_devices) == {run.model.ops}
    assert set(frame["machine"]) == {""}


def test_the_machine_of_a_trial_is_in_the_data_frame():
    elsewhere = Measurement((1.0,), (1,), facts={"machine": "lab-1"})
    (trial,) = trials_frame([Trial(0, Placement.uniform(1, "CPU", ["CPU"]), elsewhere, 1.0, "random")])["machine"]
    assert trial == "lab-1"


def test_its_history_shows_each_trial_and_the_best_so_far(run):
    axes = run.plot_history()
    drawn = {line.get_label(): line for line in axes.get_lines()}
    ratios = [trial.ratio for trial in run.trials]
    assert drawn["random"].get_ydata().tolist() == ratios
    assert drawn["best so far"].get_xdata().tolist() == [trial.number for trial in run.trials]
    np.testing.assert_array_equal(drawn["best so far"].get_ydata(), np.minimum.accumulate(ratios))
    assert run.plot_history(axes) is axes


def test_failed_trials_are_shown_as_such(run):
    gone = Measurement.failed(ErrorKind.CRASH, "gone")
    first, *others = run.trials
    failing = dataclasses.replace(run)
    vars(failing)["trials"] = (dataclasses.replace(first, measurement=gone, ratio=np.inf), *others)
    frame = failing.trials_frame()
    assert frame["error"].tolist() == ["crash: gone"] + [""] * len(others)
    assert frame[["latency_ms", "ratio"]].isna().all(axis=1).tolist() == [True] + [False] * len(others)
    axes = failing.plot_history()
    drawn = {line.get_label(): line.get_xdata().tolist() for line in axes.get_lines()[:-1]}
    assert (drawn["failed"], drawn["random"]) == ([0], [trial.number for trial in others])
    axes.figure.canvas.draw()
    assert axes.get_ylim()[1] < 2, "what failed has no ratio that the picture would have to reach"


@pytest.mark.parametrize(("package", "act"), [("pandas", "trials_frame"), ("matplotlib", "plot_history")])
def test_a_missing_package_is_named_with_its_extra(run, monkeypatch, package, act):
    real = builtins.__import__

    def without(name, *arguments):
        if name.split(".")[0] == package:
            raise ImportError(name)
        return real(name, *arguments)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(UsageError, match=rf"needs {package}; pip install 'ovplace\[notebook\]'"):
        getattr(run, act)()


def test_it_compiles_and_is_exported(run, tmp_path):
    assert set(run.load().get_property("EXECUTION_DEVICES")) == {"CPU_A", "CPU_B"}
    assert run.export("dot", tmp_path / "run.dot") == [tmp_path / "run.dot"]
    assert (tmp_path / "run.dot").read_text().startswith("digraph")
    with pytest.raises(UsageError, match="did you mean 'python'"):
        run.export("pyton")


def test_an_empty_path_is_the_usual_one(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    written = [*run.export("ir", ""), run.report("")]
    assert {path.parent for path in written} == {run.folder / "ir", run.folder}
    assert not list(tmp_path.iterdir())


def test_it_is_measured_again_beside_its_devices(run):
    names = [row.name for row in run.measure().measured]
    assert names[:2] == ["CPU_A", "CPU_B"]
    assert any("HETERO" in name for name in names)
    assert names[-1] == "the placement"


def test_several_placements_are_measured_in_turns(run):
    given = {"device": PAIR, "backend": fake_backend.NAME, "settings": QUICK}
    other = dict.fromkeys(run.placement, "CPU_B")
    found = ovplace.measure(run.folder / "placed.xml", {"first": run.placement, "second": other}, **given)
    assert [row.name for row in found.measured] == ["CPU_A", "CPU_B", "first", "second"]
    with pytest.raises(UsageError, match=r"a placement must map names of operations .*, got 7"):
        ovplace.measure(run.folder / "placed.xml", {"first": run.placement, "second": 7}, **given)


def test_devices_that_it_chose_by_itself_are_measured_under_hetero_too(tmp_path):
    given = {"machine": "i9-12900k+flex170", "budget": 1, "settings": QUICK}
    chosen = ovplace.optimize(models.residual(), tmp_path / "run", **given)
    assert [row.name for row in chosen.measure().measured] == [
        "GPU", "CPU", "HETERO:GPU,CPU (automatic)", "HETERO:CPU,GPU (automatic)", "the placement",
    ]  # fmt: skip


def test_its_benchmark_runs_the_answer_and_its_baselines(run):
    found = run.benchmark(time=0.01)
    assert [one.error for one in found] == [""] * len(found)
    assert found[-1].name == "the placement"
    assert all(one.throughput > 0 for one in found)
    with pytest.raises(UsageError, match="api must be 'sync' or 'async', got 'asinc'"):
        run.benchmark(api="asinc")


def test_notebooks_show_a_small_table(run):
    shown = run._repr_html_()
    assert "20 % less time" in shown
    assert all(f"<td>{baseline.name}</td>" in shown for baseline in run.baselines)
    assert "less time than CPU_A" in repr(run)
    assert len(repr(run)) < 200


def test_a_notebook_writes_numbers_as_the_command_line_does():
    slow = baseline_summary("CPU", final_latency_ms=Interval(1234.567, 1200.0, 1300.0), final_ratio=Interval(1, 1, 1))
    shown = html(run_result(baselines=(slow, baseline_summary("GPU", ratio=123.456))))
    assert "<td>1234.6 ms</td><td>1.000</td>" in shown
    assert "<td>123.5</td>" in shown


def test_a_folder_without_a_finished_run_is_refused(tmp_path):
    with pytest.raises(PlacementError, match="there is no run folder"):
        ovplace.open_run(tmp_path / "absent")
    with pytest.raises(PlacementError, match="holds no run"):
        ovplace.open_run(tmp_path)


@pytest.mark.parametrize("use", [
    lambda run: run.trials, lambda run: run.placement, lambda run: run.measure(), lambda run: run.load(),
    lambda run: run.check(), lambda run: run.benchmark(), lambda run: run.report(), lambda run: run.export("json"),
])  # fmt: skip
def test_a_folder_that_was_moved_is_missed_by_name(run, tmp_path, use):
    moved = dataclasses.replace(run, folder=tmp_path / "absent")
    with pytest.raises(PlacementError, match=r"there is no run folder '.*absent'; check the path"):
        use(moved)


def test_it_is_found_from_another_working_directory(run, tmp_path, monkeypatch):
    monkeypatch.chdir(run.folder.parent)
    named = ovplace.open_run(run.folder.name)
    monkeypatch.chdir(tmp_path)
    assert [trial.ratio for trial in named.trials] == [trial.ratio for trial in run.trials]
    assert named.placement == run.placement
    assert named.load()
    with pytest.warns(ExportWarning, match="hello_affinity registers no variants, .*: CPU_A") as warned:
        assert named.export("json") == [run.folder.absolute() / "affinity.json"]
    assert warned[0].filename == __file__
    assert named.report() == run.folder.absolute() / "report.html"
    assert named.measure().measured[-1].error is None
    assert named.benchmark(time=0.01)[-1].error == ""
    assert named.check().holds
    assert repr(named).startswith("<Run 'run': ")


def test_measure_times_a_model_in_memory():
    given = {"settings": QUICK, "device": PAIR.split(",")}
    report = ovplace.measure(models.residual(), **given)
    assert [(row.name, row.error) for row in report.measured] == [("CPU_A", None), ("CPU_B", None)]


LIGHT = """
import sys, ovplace
assert dir(ovplace) == sorted([*ovplace.__all__, "__version__"]), dir(ovplace)
heavy = {"torch", "openvino", "numpy", "scipy", "pandas", "matplotlib", "click", "rich"} & set(sys.modules)
assert not heavy, heavy
"""


def test_the_import_is_light_and_shows_the_interface():
    done = subprocess.run([sys.executable, "-c", LIGHT], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_its_report_is_one_page(run, tmp_path):
    page = run.report(tmp_path / "page.html")
    assert page == tmp_path / "page.html"
    assert page.read_text().lower().startswith("<!doctype html>")


EMULATED = """
import sys
import ovplace
from ovplace.api.summary import html
from ovplace.api.trials import trials_frame
from ovplace.devices import emulated_gpu
run = ovplace.optimize(sys.argv[1], sys.argv[2], device=["GPU", "CPU"], placer="single_device", settings=sys.argv[3:])
assert emulated_gpu.is_enabled()
import openvino
print(openvino.Core().available_devices, run.load().get_property("EXECUTION_DEVICES"))
"""


@pytest.mark.slow
@pytest.mark.skipif(bool(emulated_gpu.why_unavailable()), reason="the emulated GPU is not installed")
def test_what_was_found_on_the_emulated_gpu_is_loaded_in_the_same_process(tmp_path):
    ov.save_model(models.residual(), tmp_path / "model.xml")
    command = [sys.executable, "-c", EMULATED, str(tmp_path / "model.xml"), str(tmp_path / "run"), *QUICK]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "['CPU', 'GPU']" in done.stdout
