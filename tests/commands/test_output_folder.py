"""A folder that takes no files is told before there is anything to write."""

from __future__ import annotations

import pytest

from ovplace.commands import output_folder as module
from ovplace.commands.output_folder import check_folder
from ovplace.errors import StoreError


def test_a_folder_is_made_and_stays_empty(tmp_path):
    check_folder(tmp_path / "new" / "folder", "choose another")
    assert list((tmp_path / "new" / "folder").iterdir()) == []


def test_a_file_is_no_folder(tmp_path):
    (tmp_path / "taken").touch()
    with pytest.raises(StoreError, match=r"cannot write into '.*taken': File exists; choose another"):
        check_folder(tmp_path / "taken", "choose another")


def test_a_folder_that_is_there_may_take_no_files(tmp_path, monkeypatch):
    def refused(dir):
        raise PermissionError(13, "Permission denied", str(dir))

    monkeypatch.setattr(module, "TemporaryFile", refused)  # root may write everywhere
    with pytest.raises(StoreError, match=r"cannot write into '.*': Permission denied; choose another"):
        check_folder(tmp_path, "choose another")
