"""`ovplace show`: the result of a finished run, how far another one is, and nothing is changed."""

import json
import shutil
import sqlite3
from contextlib import closing
from dataclasses import replace

import pytest

from ovplace.store.run_folder import RunFolder


@pytest.fixture
def stopped(finished, tmp_path):
    """Return a run that was stopped before it had a result."""
    folder = tmp_path / "stopped"
    shutil.copytree(finished[0], folder)
    (folder / "result.json").unlink()
    return folder


def content(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.suffix not in (".db-wal", ".db-shm")}


def test_a_finished_run_shows_what_the_search_has_shown(ovplace, finished):
    folder, done = finished
    before = content(folder)
    assert ovplace("show", folder).out == done.out
    assert json.loads(ovplace("show", folder, "--json").out) == json.loads((folder / "result.json").read_text())
    assert content(folder).keys() == before.keys()


def test_a_stopped_run_shows_the_best_so_far(ovplace, stopped):
    text = ovplace("show", stopped).out
    assert "3 of 3 placements" in text
    assert "stopped; the same 'ovplace optimize' continues it" in text
    state = json.loads(ovplace("show", stopped, "--json").out)
    assert (state["finished"], state["trials"], state["holder"]) == (False, 3, None)
    assert sum(state["best"]["ops_per_device"].values()) > 0
    assert f"{100 * state['best']['ratio']:.0f} % of {state['reference']} alone, measured once: " in text
    assert state["reference"] in state["best"]["ops_per_device"]


def test_placements_that_were_known_are_no_part_of_the_budget(ovplace, stopped):
    with closing(sqlite3.connect(stopped / "run.db")) as db, db:
        db.execute("UPDATE trials SET cached = 1 WHERE number > 0")
    assert "1 of 3 placements" in ovplace("show", stopped).out
    state = json.loads(ovplace("show", stopped, "--json").out)
    assert (state["trials"], state["measured"], state["failed"]) == (3, 1, 0)


def test_the_best_so_far_of_a_simulated_run_says_so(ovplace, tiny, tmp_path):
    run = (tiny, "--machine", "i9-12900k+flex170", "--placer", "cut", "--budget", "1", "--set", "comparison.rounds=2")
    assert ovplace("optimize", *run, "-o", tmp_path / "run").code == 0
    (tmp_path / "run" / "result.json").unlink()
    best = ovplace("show", tmp_path / "run").out.splitlines()[-1]
    assert best.startswith("best so far")
    assert best.count(" operation") == best.count(" (simulated)") - 1 > 0  # the reference is one, too


def test_a_run_that_is_searched_names_the_process(ovplace, stopped, finished):
    with RunFolder(stopped).locked():
        assert "by process" in ovplace("show", stopped).out
    with RunFolder(finished[0]).locked():
        done = ovplace("show", finished[0])
    assert done.out == finished[1].out
    assert "the run is being continued by process" in done.err


def add_trials(folder, count):
    with closing(RunFolder(folder).open_store()) as store:
        first = store.trials()[0]
        done = RunFolder(folder).read_result().search.trials
        for number in range(done, done + count):
            store.add_trial(f"key {number}", replace(first, number=number, cached=False))


@pytest.mark.parametrize(("count", "words"), [(0, "0 trials"), (1, "1 trial"), (2, "2 trials")])
def test_a_stopped_continuation_is_told_after_the_earlier_result(ovplace, finished, tmp_path, count, words):
    folder = tmp_path / "continued"
    shutil.copytree(finished[0], folder)
    config = RunFolder(folder).read_config()
    RunFolder(folder).write_config(replace(config, search=replace(config.search, budget=9)))
    add_trials(folder, count)
    line = f"A continuation with {words} was stopped; the same 'ovplace optimize' continues it.\n"
    done, as_json = ovplace("show", folder), ovplace("show", folder, "--json")
    assert done.out == ovplace("show", finished[0]).out.replace(str(finished[0]), str(folder)) + line
    assert json.loads(as_json.out) == json.loads((folder / "result.json").read_text())
    assert line in as_json.err
    with RunFolder(folder).locked():
        assert line not in ovplace("show", folder).out


def test_a_number_that_a_fleet_had_no_time_for_is_no_continuation(ovplace, finished, tmp_path):
    folder = tmp_path / "gap"
    shutil.copytree(finished[0], folder)
    with closing(sqlite3.connect(folder / "run.db")) as db, db:
        db.execute("UPDATE trials SET number = number + 1 WHERE number = (SELECT MAX(number) FROM trials)")
    assert ovplace("show", folder).out == ovplace("show", finished[0]).out.replace(str(finished[0]), str(folder))


def test_a_result_is_shown_whatever_has_become_of_the_measurements(ovplace, finished, tmp_path):
    folder = tmp_path / "damaged"
    shutil.copytree(finished[0], folder)
    (folder / "run.db").write_bytes(b"no database at all" * 99)
    assert "Load it:" in ovplace("show", folder).out
    (folder / "run.db").unlink()
    assert "Load it:" in ovplace("show", folder).out
    assert "3 of its 3 trials are missing in run.db" in ovplace("show", folder).out
    assert not (folder / "run.db").exists()
    (folder / "run.db").touch()
    assert "3 of its 3 trials are missing in run.db" in ovplace("show", folder, "--json").err
    assert not (folder / "run.db").read_bytes(), "nothing is written"


def test_a_run_that_is_being_prepared(ovplace, tmp_path):
    with RunFolder(tmp_path).locked():
        assert "preparing" in ovplace("show", tmp_path).out


@pytest.mark.parametrize(("name", "words"), [("nosuch", "there is no run folder"), (".", "holds no run")])
def test_what_is_no_run(ovplace, tmp_path, name, words):
    done = ovplace("show", tmp_path / name)
    assert done.code == 1
    assert words in done.err
