"""Nothing is written over the files of a run."""

from pathlib import Path

import pytest

from ovplace.errors import UsageError
from ovplace.store.overwriting import check_keeps_runs

FILES = (
    "config.toml", "run.db", "given.xml", "given.bin", "given.npz", "placed.xml", "placed.bin", "placement.json",
    "result.json", "run.lock", "score.json", "placed.requests",
)  # fmt: skip


@pytest.fixture
def begun(tmp_path):
    """Return a folder in which a run has begun."""
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "config.toml").touch()
    return folder


@pytest.mark.parametrize("name", FILES)
def test_a_file_of_a_run_is_kept(begun, name, monkeypatch):
    (begun / "link").symlink_to(begun / name)
    monkeypatch.chdir(begun)
    for target in (begun / name, Path(name), begun / ".." / "run" / name, begun / "link"):
        with pytest.raises(UsageError, match=f"^'{target}' belongs to a run, .* choose another file with -o"):
            check_keeps_runs(target)


def test_a_run_folder_is_kept(begun):
    with pytest.raises(UsageError, match=f"^'{begun}' holds a run, .* choose another folder with -o"):
        check_keeps_runs(begun)


@pytest.mark.parametrize("name", ["report.html", "netron.xml", "python", "python/placed.xml"])
def test_all_else_may_be_written(begun, name):
    check_keeps_runs(begun / name)


def test_a_folder_without_a_run_is_kept_as_a_source_only(tmp_path):
    check_keeps_runs(tmp_path / "placed.xml")
    for target in (tmp_path, tmp_path / "placed.xml"):
        with pytest.raises(UsageError, match="a run"):
            check_keeps_runs(target, tmp_path)


def test_a_link_to_itself_is_refused(tmp_path):
    loop = tmp_path / "loop.json"
    loop.symlink_to(loop)
    with pytest.raises(UsageError, match=f"cannot look up the output '{loop}': .*; check the path"):
        check_keeps_runs(loop)
