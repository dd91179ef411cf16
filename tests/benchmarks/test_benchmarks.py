"""Suites and scripts of `benchmarks/`: all are read and planned; one tiny suite runs from end to end."""

import importlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import script
from benchmarks.searches import suite_file

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def root(monkeypatch):
    monkeypatch.syspath_prepend(ROOT)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.chdir(ROOT)


def module(name):
    return importlib.import_module(f"benchmarks.{name}")


def test_every_suite_is_planned():
    suites = suite_file.suite_files()
    assert {
        "systems",
        "answers",
        "hsdag_table_2",
        "placeto",
        "transfer",
        "wrong_costs",
        "failing_choices",
        "real_models",
    } <= suites.keys()
    for file in suites.values():
        assert 1 <= len(module("searches.suite").plan_suite(file, short=True).cells) <= 2, file


def test_the_table_of_answers_explains_its_own_columns():
    suite, _, _ = suite_file.read_suite(suite_file.suite_files()["systems"], short=True)
    table = module("searches.answers").answers_table(suite, "systems", [], "simulated: core-ultra")
    assert [column for column in table.columns[3:] if f"*{column}*" not in table.note] == []
    assert "After each search there is one final comparison. " in table.note


@pytest.mark.slow
def test_every_suite_is_planned_as_a_whole():
    for file in suite_file.suite_files().values():
        assert len(module("searches.suite").plan_suite(file, short=False).cells) > 2, file


def test_every_script_has_a_title_and_options():
    for name, file in script.script_files().items():
        assert len(script.title(file)) > 20, name
        loaded = module(f"{file.parent.name}.{name}")
        assert script.with_settings(loaded.SHORT, [], name) == loaded.SHORT


def run(*arguments, code=0):
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", *map(str, arguments)], capture_output=True, text=True, check=False
    )
    assert done.returncode == code, done.stderr
    return done


def test_a_suite_is_run_and_goes_on(tmp_path):
    call = ["run", "failing_choices", "--short", "--cells", tmp_path / "cells", "-o", tmp_path / "results"]
    first = run(*call)
    assert "decoder on i9-12900k+flex170 (simulated)" in first.stdout
    tables = {file.stem: json.loads(file.read_text()) for file in (tmp_path / "results").iterdir()}
    table = tables["failing-choices-decoder-i9-12900k+flex170"]
    assert table["columns"][0] == "variant"
    assert [row[0] for row in table["rows"]] == ["min_cut"]
    assert table["command"].startswith("python -m benchmarks run failing_choices --short")
    assert table["machine"] == "simulated: i9-12900k+flex170"
    again = run(*call)
    assert "1 of 1 are finished already" in again.stderr
    assert again.stdout == first.stdout


def test_a_pattern_that_fits_no_run_is_refused_before_anything_is_computed(tmp_path):
    done = run("run", "failing_choices", "--only", "*/nothing/*", "--cells", tmp_path / "cells", code=2)
    assert "--only '*/nothing/*' fits no run of 'failing_choices'" in done.stderr
    assert not (tmp_path / "cells").exists()


def test_a_script_is_run(tmp_path):
    done = run("run", "interval_coverage", "--short", "--set", "comparisons=5", "-o", tmp_path)
    assert "| Student |" in done.stdout
    assert len(json.loads((tmp_path / "interval-coverage.json").read_text())["rows"]) == 48


def test_what_is_not_there_is_refused():
    assert "--only chooses runs of a suite" in run("run", "interval_coverage", "--only", "CPU", code=2).stderr
    assert "there is no benchmark 'system'" in run("run", "system", code=2).stderr
    assert (
        "unknown key 'interval_coverage.comparison'"
        in run("run", "interval_coverage", "--set", "comparison=5", code=2).stderr
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted([*suite_file.suite_files(), *script.script_files()]))
def test_a_small_part_runs(name, tmp_path):
    done = run("run", name, "--short", "--jobs", 1, "--cells", tmp_path)
    assert "| --- |" in done.stdout or done.stdout.startswith("skipped")
