"""Whole ablations on a simulated machine."""

import json
import os
import shutil
import subprocess
import sys
from contextlib import closing
from dataclasses import replace

import pytest

from ovplace import zoo
from ovplace.config import toml
from ovplace.errors import InterruptedRunError, UsageError
from ovplace.experiments import models, score
from ovplace.experiments.ablation import SEARCH, ablate, table
from ovplace.experiments.cell_state import read_state
from ovplace.experiments.grid import read_grid
from ovplace.experiments.run_grid import selected
from ovplace.search.completed_run import open_completed_run
from ovplace.search.run import run as search
from ovplace.shipped import shipped
from ovplace.store.run_folder import RunFolder
from ovplace.testing.slow import slow_except


def copied(finished, case, tmp_path, *changes):
    """Return the plan of a changed ablation in a folder that holds the finished one."""
    shutil.copytree(finished[0].out, tmp_path / "out")
    return read_grid(case.write(tmp_path, *changes), tmp_path / "out")


def test_all_runs_are_made_and_compared(finished):
    ablation, data, told = finished
    assert [run["status"] for run in data["runs"]] == ["finished"] * 4
    assert [(cell["variant"], cell["finished"]) for cell in data["cells"]] == [("full", 2), ("cuts", 2)]
    for cell in data["cells"]:
        assert cell["where"] == "i9-12900k+flex170 (simulated)"
        assert cell["noise_free"] is True
        assert cell["to_single"]["value"] <= 1 + 1e-9 or cell["faster"]
        assert 0 < cell["measured"] <= 4
    assert (told[-1].done, told[-1].total) == (4, 4)
    assert json.loads((ablation.out / "ablation.json").read_text()) == data
    assert "small on i9-12900k+flex170 (simulated)" in (ablation.out / "ablation.md").read_text()


def test_finished_runs_are_not_run_again(finished):
    ablation, data, _ = finished
    before = {path: path.stat().st_mtime_ns for path in ablation.out.rglob("result.json")}
    told = []
    assert ablate(ablation, 1, told.append) == data
    assert [event.done for event in told] == [4]
    assert {path: path.stat().st_mtime_ns for path in ablation.out.rglob("result.json")} == before


def test_a_run_is_what_optimize_makes(finished, tmp_path):
    """The same configuration, run in this process: same answer, so neither processes nor --jobs matter."""
    run = finished[0].cells[1]
    alone = search(run.config, tmp_path / "alone")
    result = read_state(run, SEARCH).outcome.result
    for part in ("verdict", "best", "baselines"):
        assert getattr(alone, part) == getattr(result, part)


def test_scores_without_noise_are_what_a_quiet_machine_measures(case, tmp_path):
    run = read_grid(case.file, tmp_path, ["backend.noise=0", "search.placer=local_search"]).cells[0]
    result = search(run.config, run.folder)
    found = score.score(run.folder)
    assert found.noise_free
    assert found.latency_ms == pytest.approx(result.best.latency_ms.value, rel=1e-9)
    assert found.to_single == pytest.approx(score.measured_score(result).to_single, rel=1e-9)
    assert score.read_score(run.folder) == found
    with closing(open_completed_run(run.folder).folder.open_store()) as store:
        quiet = [t.measurement.median_ms for t in store.trials() if not t.placement.is_uniform]
    single_ms = found.latency_ms / found.to_single
    assert found.found_to_single == pytest.approx(min(quiet) / single_ms, rel=1e-9)


def test_a_part_is_run_now_and_the_rest_later(finished, case, tmp_path):
    ablation = copied(finished, case, tmp_path)
    for cell in (cell for cell in ablation.cells if cell.variant == "cuts"):
        shutil.rmtree(cell.folder)
    part = ablate(ablation, 1, only="cuts/*/3")
    assert [(run["variant"], run["seed"]) for run in part["runs"] if run["status"] == "open"] == [("cuts", 4)]
    assert [run["status"] for run in part["runs"]].count("finished") == 3
    told = []
    ablate(ablation, 1, told.append, only="full/*")
    assert (told[-1].done, told[-1].total) == (2, 2)
    with pytest.raises(UsageError, match=r"--only 'cut/\*' fits no run of 'changed'; the first one is 'full/small/"):
        ablate(ablation, 1, only="cut/*")


def test_parts_are_chosen_by_the_names_that_the_user_wrote_and_by_those_of_the_folders(case, tmp_path):
    plan = read_grid(case.write(tmp_path, ("cuts.search", '"random search".search')), tmp_path)
    by_name, by_folder = selected(plan, "random search/*"), selected(plan, "random-search/*")
    assert [cell.variant for cell in by_name] == ["random search"] * 2
    assert by_folder == by_name


def test_a_failing_run_is_a_row_and_the_others_go_on(finished, case, tmp_path):
    broken = tmp_path / "broken.xml"
    broken.write_text("<net/>")
    ablation = copied(
        finished, case, tmp_path, (f'["{case.model}"]', f'["{broken}", "{case.model}"]'), ("[3, 4]", "[3]")
    )
    for _ in range(2):  # it is tried again, and fails again
        data = ablate(ablation, 2)
        status = {(run["model"], run["variant"]): run["status"] for run in data["runs"]}
        assert status == {
            ("broken", "full"): "failed",
            ("broken", "cuts"): "failed",
            ("small", "full"): "finished",
            ("small", "cuts"): "finished",
        }
    error = data["runs"][0]["error"]
    assert "broken.xml" in error
    assert "\n" not in error
    assert error in (ablation.out / "ablation.md").read_text()


def test_finished_runs_of_a_fleet_are_kept_when_its_scheduler_moves(finished, case, tmp_path):
    ablation = copied(finished, case, tmp_path)
    elsewhere = read_grid(tmp_path / "changed.toml", ablation.out, ["search.cluster=tls://127.0.0.1:1"])
    assert {run["status"] for run in table(elsewhere)["runs"]} == {"failed"}
    for cell in ablation.cells:
        moved = replace(cell.config, search=replace(cell.config.search, cluster="tls://127.0.0.1:2"))
        RunFolder(cell.folder).write_config(moved)
    assert {run["status"] for run in table(elsewhere)["runs"]} == {"finished"}


def test_a_run_with_other_settings_is_not_taken_for_this_one(finished, case, tmp_path):
    ablation = copied(finished, case, tmp_path, ('"random"', '"single_device"'), ("[3, 4]", "[3]"))
    before = table(ablation)
    assert [run["status"] for run in before["runs"]] == ["failed", "finished"]
    assert "other settings" in before["runs"][0]["error"]
    after = ablate(ablation, 1)
    assert "holds another run" in after["runs"][0]["error"]


@pytest.mark.parametrize("name", slow_except(["small.bin"], ["small.bin", "mine.toml"]))
def test_finished_runs_whose_files_have_changed_since_fail(case, tmp_path, name):
    for path in (case.model, case.model.with_suffix(".bin")):
        shutil.copyfile(path, tmp_path / path.name)
    shutil.copyfile(shipped("configs/machines/i9-12900k+flex170.toml"), tmp_path / "mine.toml")
    own = (str(case.model), str(tmp_path / "small.xml")), ("i9-12900k+flex170", str(tmp_path / "mine.toml"))
    file = case.write(tmp_path, *own, ("[3, 4]", "[3]"), ('[variants]\ncuts.search.placer = "cut"\n', ""))
    ablation = read_grid(file, tmp_path / "out")
    assert [run["status"] for run in ablate(ablation, 1)["runs"]] == ["finished"]
    before = (tmp_path / name).read_bytes()
    (tmp_path / name).write_bytes(before.replace(b"peak_gflops = ", b"peak_gflops = 9") + b"\n")
    (run,) = ablate(ablation, 1)["runs"]
    named = "small.xml" if name == "small.bin" else name
    assert run["status"] == "failed"
    assert f"{named}' has changed since the run" in run["error"]
    (tmp_path / name).write_bytes(before)
    assert [run["status"] for run in ablate(ablation, 1)["runs"]] == ["finished"]


def test_stopping_keeps_what_is_done(case, tmp_path):
    ablation = read_grid(
        case.write(tmp_path, ("[variants]", "[variants]\nalone.search.placer = 'single_device'")), tmp_path / "out"
    )

    def stop(event):
        if event.phase == "runs" and event.done:
            raise KeyboardInterrupt

    with pytest.raises(InterruptedRunError, match="1 of 6 runs are finished"):
        ablate(ablation, 1, stop)
    data = json.loads((ablation.out / "ablation.json").read_text())
    assert sorted(run["status"] for run in data["runs"]) == ["finished"] + ["open"] * 5


def test_an_unfinished_or_damaged_folder_is_not_finished(finished, case, tmp_path):
    runs = copied(finished, case, tmp_path).cells
    RunFolder(runs[0].folder).score.write_text("{")
    RunFolder(runs[1].folder).score.unlink()
    (runs[2].folder / "result.json").write_text("")
    found = [read_state(run, SEARCH) for run in runs]
    assert [of.outcome is not None for of in found] == [False, False, False, True]
    assert "damaged" in found[0].error
    assert found[1].error == ""
    assert "damaged" in found[2].error


def test_a_run_that_goes_on_is_not_finished_until_it_is_scored(finished, case, tmp_path):
    run = copied(finished, case, tmp_path).cells[0]
    # So many that it cannot end before it is killed, however late that is.
    more = replace(run, config=replace(run.config, search=replace(run.config.search, budget=100_000)))
    assert read_state(more, SEARCH).outcome is None
    ended(run.folder, more.config, killed=True)
    assert read_state(more, SEARCH).outcome is None
    assert read_state(run, SEARCH).outcome is None


def ended(folder, config, killed):
    """Start the process of a run, and take its standard input away at once, as a killed parent would."""
    order = {"function": SEARCH.function, "options": {}, "folder": str(folder), "config": toml.dumps(config)}
    with subprocess.Popen([sys.executable, "-m", "ovplace.experiments"], stdin=subprocess.PIPE) as process:
        process.stdin.write(json.dumps(order).encode() + b"\n")
        process.stdin.flush()
        while RunFolder(folder).score.exists():
            assert process.poll() is None
        process.stdin.close()
        assert (process.wait(60) != 0) is killed


def test_recipes_are_built_once(tmp_path):
    small = models.parse_model({"recipe": "mobilenet-v2", "height": 32, "width": 32, "multiplier": 0.25, "classes": 10})
    assert models.build_model(small, tmp_path)
    file = small.file(tmp_path)
    assert file.with_suffix(".bin").exists()
    assert sorted(path.suffix for path in file.parent.iterdir()) == [".bin", ".xml"]
    assert not models.build_model(small, tmp_path)
    assert not models.build_model(models.parse_model(str(file)), tmp_path)


def test_two_ablations_may_build_a_model_at_the_same_time(tmp_path, monkeypatch):
    small, save = models.parse_model("siren"), zoo.save_recipe

    def after_another_process(*arguments):
        save(*arguments)
        with monkeypatch.context() as patch:
            patch.setattr(os, "getpid", lambda: 99_999_999)
            patch.setattr(zoo, "save_recipe", save)
            assert models.build_model(small, tmp_path)

    monkeypatch.setattr(zoo, "save_recipe", after_another_process)
    assert models.build_model(small, tmp_path)
    assert sorted(path.suffix for path in (tmp_path / "models").iterdir()) == [".bin", ".xml"]
