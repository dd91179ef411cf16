"""The command line finds the folder for temporary files without writing a file there, which a kill would leave."""

from __future__ import annotations

import os
import tempfile

import pytest

from ovplace.cli.errors import exit_code
from ovplace.cli.output.console import Console
from ovplace.cli.temporary_files import choose_temporary_folder


@pytest.fixture(autouse=True)
def nothing_chosen(tmp_path, monkeypatch):  # after tmp_path, for which pytest chooses
    monkeypatch.setattr(tempfile, "tempdir", None)
    for name in ("TMPDIR", "TEMP", "TMP"):
        monkeypatch.delenv(name, raising=False)


def test_it_is_what_python_would_choose(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path / "absent"))
    monkeypatch.setenv("TEMP", str(tmp_path))
    expected = tempfile.gettempdir()
    tempfile.tempdir = None
    choose_temporary_folder()
    assert tempfile.tempdir == expected == str(tmp_path)


def test_nothing_is_opened(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))

    def refused(*_, **__):
        raise AssertionError("a file was opened")

    choose_temporary_folder()
    with monkeypatch.context() as patch:
        patch.setattr(os, "open", refused)
        assert tempfile.gettempdir() == str(tmp_path)


def test_a_folder_that_was_chosen_stays(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", "chosen")
    choose_temporary_folder()
    assert tempfile.tempdir == "chosen"


def test_where_none_can_be_made_the_command_says_what_to_do(tmp_path, capsys):
    assert exit_code(Console(), lambda: tempfile.mkdtemp(dir=tmp_path / "absent")) == 1
    said = capsys.readouterr().err
    assert said.startswith(f"Error: cannot make a temporary file: [Errno 2] No such file or directory: '{tmp_path}")
    assert said.endswith("; set TMPDIR to a folder that can be written\n")
