"""The files of a run folder."""

from __future__ import annotations

import fcntl
import json
import os
import re
import shlex
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ovplace import atomic
from ovplace.atomic import atomic_write, delete_abandoned, replacing, temporary_folder, write_json
from ovplace.config.resolve import resolved
from ovplace.config.schema import RunConfig, SearchConfig
from ovplace.errors import ConfigError, InUseError, PlacementError, StoreError
from ovplace.store.run_folder import RunFolder
from ovplace.testing.results import run_result


@pytest.fixture
def folder(tmp_path):
    return RunFolder(tmp_path)


def test_what_is_flushed_is_open_for_writing_as_windows_wants_it(tmp_path, monkeypatch):
    modes = []
    monkeypatch.setattr(os, "fsync", lambda number: modes.append(fcntl.fcntl(number, fcntl.F_GETFL) & os.O_ACCMODE))
    atomic_write(tmp_path / "file", "new")
    assert modes == [os.O_RDWR]


@pytest.mark.parametrize("existed", [False, True])
def test_a_folder_that_was_made_for_nothing_is_deleted(tmp_path, existed):
    folder = RunFolder(tmp_path / "run")
    if existed:
        folder.create()
    with pytest.raises(KeyError), folder.locked():
        raise KeyError
    assert folder.path.exists() == existed
    with folder.locked():
        folder.write_result(run_result())
    assert folder.result.exists()


def test_what_is_written_is_read(folder):
    config = resolved(RunConfig(search=SearchConfig(model="x.xml", budget=7)))
    assert not folder.has_begun
    folder.write_config(config)
    folder.write_result(run_result())
    assert folder.has_begun
    assert folder.read_config() == config
    assert folder.read_result() == run_result()
    assert folder.read_result().folder == folder.path
    assert {path.name for path in folder.answer_files()} == {"result.json"}


def test_a_result_of_another_version_is_refused_in_one_line_that_says_what_to_do(folder):
    folder.result.write_text(json.dumps(run_result().to_json() | {"schema": 2}))
    with pytest.raises(StoreError) as caught:
        folder.read_result()
    text = str(caught.value)
    assert "schema 2, this ovplace reads 1" in text
    assert text.endswith("run its 'ovplace optimize' again")
    assert "\n" not in text


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"schema": 1}', "null"])
def test_a_damaged_result_is_one_clear_error(folder, content):
    folder.result.write_text(content)
    with pytest.raises(StoreError, match="cannot read the run"):
        folder.read_result()


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("", "Expecting value"),
        ("[]", "not a flat JSON object"),
        ("3", "not a flat JSON object"),
        ('{"a": 1}', "not a flat JSON object"),
        ('{"a": "CPU", "b": "CPU", "a": "GPU"}', "it names 'a' twice"),
    ],
)
def test_a_damaged_placement_is_one_clear_error(folder, content, told):
    folder.placement.write_text(content)
    with pytest.raises(StoreError, match=rf"cannot read the placement '.*placement\.json': .*{told}.*; run its"):
        folder.read_placement()


def test_a_placement_may_begin_with_a_byte_order_mark(folder):
    folder.placement.write_text('{"a": "CPU"}', encoding="utf-8-sig")
    assert folder.read_placement() == {"a": "CPU"}


def test_what_an_unfinished_run_lacks_is_named(folder, tmp_path):
    folder.write_config(RunConfig())
    with pytest.raises(PlacementError, match=r"there is no result\.json"):
        folder.check_finished()
    with pytest.raises(PlacementError, match="there is no run folder"):
        RunFolder(tmp_path / "absent").check_finished()


def test_a_folder_of_runs_names_one(tmp_path):
    with pytest.raises(PlacementError, match=r"holds no run; 'ovplace optimize MODEL -o .*' begins one$"):
        RunFolder(tmp_path).check_finished()
    for name in ("b", "a"):
        RunFolder(tmp_path / name).create()
        RunFolder(tmp_path / name).write_config(RunConfig())
    with pytest.raises(PlacementError, match=r"holds no run; give one that is in it, such as '.*/a'$"):
        RunFolder(tmp_path).check_finished()


def test_the_folder_of_an_ablation_names_a_run_of_it(tmp_path):
    run = RunFolder(tmp_path / "full" / "demo" / "null" / "0")
    run.create()
    run.write_config(RunConfig())
    with pytest.raises(PlacementError, match=r"begins one$"):
        RunFolder(tmp_path).check_finished()
    (tmp_path / "ablation.json").touch()
    with pytest.raises(PlacementError, match=r"holds no run; give one that is in it, such as '.*/full/demo/null/0'$"):
        RunFolder(tmp_path).check_finished()


def test_a_run_that_is_searched_is_said_to_be(folder):
    with (
        folder.locked(),
        pytest.raises(PlacementError, match=r"no result\.json; .* searches it; 'ovplace show .*' tells"),
    ):
        folder.check_finished()


@pytest.mark.parametrize(
    ("section", "wrong"), [("search", "search.effort"), ("placer", "placer.effort"), ("place", "section 'place'")]
)
def test_a_setting_of_another_version_is_named_with_the_file(section, wrong, folder):
    folder.write_config(resolved(RunConfig(search=SearchConfig(model="x.xml", placer="cut"))))
    text = folder.config.read_text()
    table = f"[{section}]\n"
    folder.config.write_text(text.replace(table, f"{table}effort = 1\n") if table in text else f"{text}\n{table}")
    with pytest.raises(ConfigError, match=rf"config\.toml' is not understood by this ovplace: .*{wrong}"):
        folder.read_config()


def test_a_placer_that_is_not_installed_is_named_with_the_file(folder):
    folder.write_config(RunConfig(search=SearchConfig(model="x.xml", placer="gone")))
    with pytest.raises(ConfigError, match=r"config\.toml' is not understood by this ovplace: unknown placer 'gone'"):
        folder.read_config()


def test_a_command_takes_any_folder(tmp_path):
    absent = RunFolder(tmp_path / "a run's")
    with pytest.raises(PlacementError, match="there is no run folder") as caught:
        absent.check_exists()
    (command,) = re.findall("or make it with '(ovplace .*)'$", str(caught.value))
    assert shlex.split(command) == ["ovplace", "optimize", "MODEL", "-o", str(absent)]


def test_a_file_is_no_run_folder(folder):
    folder.prepared_model.touch()
    for check in (RunFolder(folder.prepared_model).check_exists, RunFolder(folder.prepared_model).check_finished):
        with pytest.raises(PlacementError) as caught:
            check()
        assert str(caught.value) == (
            f"'{folder.prepared_model}' is a file, not a run folder; give the folder it is in: '{folder}'"
        )


@pytest.mark.parametrize(
    ("path", "typed"), [("runs/a", "runs/a"), ("-dash", "./-dash"), ("-a run", "'./-a run'"), ("a/-b", "a/-b")]
)
def test_a_folder_is_typed_unlike_an_option(path, typed):
    assert RunFolder(Path(path)).typed == typed


def test_a_folder_is_made_with_those_above_it_and_made_once(tmp_path):
    made = RunFolder(tmp_path / "a" / "b")
    made.create()
    made.create()
    assert made.path.is_dir()
    write_json(made.result, {"a": [1]})
    assert made.result.read_text() == '{\n  "a": [\n    1\n  ]\n}\n'


def test_a_folder_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    blocked = RunFolder(tmp_path / "file" / "run")
    for act in (blocked.create, lambda: blocked.write_config(RunConfig())):
        with pytest.raises(StoreError, match="cannot write the run folder"):
            act()
    with pytest.raises(StoreError, match="cannot write"):
        write_json(blocked.result, {})


def test_a_failed_write_leaves_the_old_content_and_nothing_else(tmp_path):
    path = tmp_path / "file"
    atomic_write(path, "old")

    def torn():
        with replacing(path) as temporary:
            temporary.write_text("half")
            raise RuntimeError("torn")

    with pytest.raises(RuntimeError, match="torn"):
        torn()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
    with replacing(path) as temporary:
        assert temporary.name.startswith(f"file.{os.getpid()}-")
        temporary.write_text("newer")
    assert path.read_text() == "newer"
    atomic_write(path, b"new")
    assert path.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [path]


def test_threads_may_replace_a_file_at_the_same_time(tmp_path):
    path, together = tmp_path / "file", threading.Barrier(4)

    def write(text):
        with replacing(path) as temporary:
            temporary.write_text(text)
            together.wait(10.0)
        return text

    with ThreadPoolExecutor(4) as threads:
        written = list(threads.map(write, ["some", "text", "of", "each"]))
    assert path.read_text() in written
    assert list(tmp_path.iterdir()) == [path]


def test_no_file_replaces_a_folder_without_a_name():
    with pytest.raises(IsADirectoryError, match="Is a directory"):
        atomic_write(Path(), "text")


def test_a_pipe_stays_and_is_given_what_is_written(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE)
    atomic_write(pipe, "all of it")
    assert reader.communicate()[0] == b"all of it"
    assert pipe.is_fifo() and list(tmp_path.iterdir()) == [pipe]


def test_devices_stay_also_where_they_lead_to_a_file(tmp_path):
    (tmp_path / "file").write_text("")
    (tmp_path / "link").symlink_to("file")
    stays = atomic._must_stay  # nothing is written there: where this fails, the superuser would lose the device
    assert stays(Path("/dev/null")) and stays(Path("/dev/stdout"))
    assert not any(map(stays, (tmp_path, tmp_path / "file", tmp_path / "link", tmp_path / "new")))


def test_temporary_files_of_killed_processes_are_deleted(tmp_path):
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    kept = [f"config.toml.{os.getpid()}.tmp", f"config.toml.{os.getpid()}-7.tmp", "notes.tmp", "config.toml", "a.b.tmp"]
    for name in (*kept, f"config.toml.{dead.pid}.tmp", f"config.toml.{10**30}.tmp", f"result.json.{dead.pid}-7.tmp"):
        (tmp_path / name).write_text("half")
    (tmp_path / f"links.{dead.pid}.tmp").mkdir()
    (tmp_path / f"links.{dead.pid}.tmp" / "links.xml").write_text("half")
    delete_abandoned(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(kept)
    delete_abandoned(tmp_path / "nowhere")


def test_a_temporary_folder_is_deleted_and_one_that_cannot_be_made_is_told_of(tmp_path):
    with temporary_folder(tmp_path, "links") as folder:
        (folder / "links.xml").write_text("whole")
        name = folder.name
        assert name.startswith(f"links.{os.getpid()}-")
    assert list(tmp_path.iterdir()) == []
    with temporary_folder(tmp_path, "links") as folder:
        folder.rmdir()  # somebody else tidied up
    left = tmp_path / name
    left.mkdir()
    (left / "links.xml").write_text("of a killed process with the same number")
    with temporary_folder(tmp_path, "links") as folder:
        assert list(folder.iterdir()) == []
    with pytest.raises(StoreError, match="cannot write"), temporary_folder(tmp_path / "nowhere", "links"):
        pass


def test_a_process_of_somebody_else_keeps_its_temporary_files(tmp_path, monkeypatch):
    def refused(*_):
        raise PermissionError

    monkeypatch.setattr(os, "kill", refused)
    (tmp_path / "config.toml.1.tmp").write_text("half")
    delete_abandoned(tmp_path)
    assert (tmp_path / "config.toml.1.tmp").exists()


def test_all_files_of_a_finished_run_are_known(folder):
    wanted = (folder.result, folder.placement, folder.database, folder.config, folder.prepared_model)
    for path in wanted:
        path.write_text("")
    folder.check_finished()
    assert folder.placed_model in folder.answer_files()
    assert {folder.given_model.name, folder.report.name} == {"given.xml", "report.html"}


def test_saved_inputs_are_where_the_folder_has_been_moved_to(tmp_path):
    began = RunFolder(tmp_path / "began")
    began.create()
    began.given_inputs.touch()
    began.write_config(RunConfig(search=SearchConfig(input=str(began.given_inputs))))
    moved = RunFolder(began.path.rename(tmp_path / "moved"))
    assert moved.read_config().search.input == str(moved.given_inputs)


def test_files_have_the_names_that_the_manual_gives(folder):
    names = {
        path.relative_to(folder.path).as_posix()
        for path in (folder.config, folder.database, folder.given_model, folder.placed_model, folder.placement)
    }
    assert names == {"config.toml", "run.db", "given.xml", "placed.xml", "placement.json"}
    assert (folder.result.name, folder.report.name, folder.lock.name) == ("result.json", "report.html", "run.lock")


def test_one_process_searches_in_a_folder(folder):
    with folder.locked():
        assert folder.lock.exists()
        with (
            pytest.raises(InUseError, match=r"^the run in '.*' is being searched by .*; 'ovplace show"),
            folder.locked(),
        ):
            pass
    folder.open_store().close()
    assert folder.database.exists()


def test_a_run_that_can_only_be_read_is_said_to_be_shown(folder):
    folder.lock.mkdir()
    with pytest.raises(StoreError, match="choose another place with -o"), folder.locked():
        pass
    folder.write_config(RunConfig())
    with pytest.raises(StoreError, match=r"'ovplace show .*' only reads it; .* make it writable"), folder.locked():
        pass
