import errno
import json
from pathlib import Path

import pytest

from ovplace.store.blobs import Blobs
from ovplace.store.cache import keep_profile


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("OVPLACE_CACHE", str(tmp_path / "cache"))
    Blobs(10_000).keep("a", bytes(2000))
    keep_profile("b", {"some": "profile"})
    return tmp_path / "cache"


def test_the_cache_is_shown_and_emptied(ovplace, cache):
    shown = ovplace("cache").out
    assert str(cache) in shown
    assert "blobs" in shown
    assert "profiles" in shown
    assert {entry["kind"]: entry["files"] for entry in json.loads(ovplace("cache", "--json").out)["content"]} == {
        "blobs": 1,
        "profiles": 1,
        "models": 0,
    }
    assert ovplace("cache", "--clear").out.startswith("deleted from")
    assert not list(cache.glob("*/*"))


def test_files_that_cannot_be_deleted_are_not_said_to_be_gone(ovplace, cache, monkeypatch):
    def unlink(path, missing_ok=False):
        raise OSError(errno.EROFS, "Read-only file system", str(path))

    monkeypatch.setattr(Path, "unlink", unlink)
    cleared = ovplace("cache", "--clear", "--json")
    assert [entry["files"] for entry in json.loads(cleared.out)["content"]] == [0, 0, 0]
    assert cleared.code == 1
    assert f"Error: 2 files in '{cache}' cannot be deleted; check the permissions of its folders" in cleared.err


def test_a_cache_that_is_not_there_is_empty(ovplace, tmp_path, monkeypatch):
    monkeypatch.setenv("OVPLACE_CACHE", str(tmp_path / "nowhere"))
    assert [entry["files"] for entry in json.loads(ovplace("cache", "--json").out)["content"]] == [0, 0, 0]
