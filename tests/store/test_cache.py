"""The user's cache folder: what cannot be read or written there is no cache, and no error."""

from __future__ import annotations

from pathlib import Path

import pytest

from ovplace.errors import StoreError
from ovplace.store.blobs import Blobs
from ovplace.store.cache import CacheContent, cache_content, cache_folder, empty_cache, find_profile, keep_profile
from ovplace.store.device_lock import for_search, for_worker


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("OVPLACE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def nowhere(tmp_path, monkeypatch):
    """A cache folder below a file, where nothing can be."""
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("OVPLACE_CACHE", str(tmp_path / "file" / "cache"))


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"OVPLACE_CACHE": "/a", "XDG_CACHE_HOME": "/b"}, Path("/a")),
        ({"XDG_CACHE_HOME": "/b"}, Path("/b/ovplace")),
        ({"HOME": "/c"}, Path("/c/.cache/ovplace")),
    ],
)
def test_the_folder_is_where_the_environment_says(monkeypatch, variables, expected):
    for name in ("OVPLACE_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert cache_folder() == expected


def test_without_a_home_folder_there_is_no_cache(homeless):
    assert find_profile("a") is None
    assert not keep_profile("a", {})
    assert not Blobs(1000).keep("b", bytes(100))
    assert Blobs(1000).lent() is None
    assert [entry.files for entry in (*cache_content(), *empty_cache())] == [0] * 6


def test_without_a_home_folder_it_is_said_how_to_name_another(homeless):
    with pytest.raises(StoreError, match=r"no home folder for '~/\.cache'; set OVPLACE_CACHE to another folder"):
        cache_folder()
    with pytest.raises(StoreError, match="OVPLACE_CACHE"), for_worker():
        pass
    with for_search():
        pass


def test_what_is_kept_is_found_counted_and_deleted(cache):
    assert find_profile("a") is None
    assert keep_profile("a", {"some": "profile"})
    assert find_profile("a") == {"some": "profile"}
    Blobs(1000).keep("b", bytes(100))
    (cache / "models").mkdir()
    (cache / "models" / "c").write_bytes(bytes(10))
    sizes = {entry.kind: (entry.files, entry.n_bytes > 0) for entry in cache_content()}
    assert sizes == {"profiles": (1, True), "blobs": (1, True), "models": (1, True)}
    assert [(entry.kind, entry.files) for entry in empty_cache()] == [("profiles", 1), ("blobs", 1), ("models", 1)]
    assert [entry.files for entry in cache_content()] == [0, 0, 0]


def test_a_profile_is_kept_where_there_was_no_folder_yet_and_again(tmp_path, monkeypatch):
    monkeypatch.setenv("OVPLACE_CACHE", str(tmp_path / "a" / "b"))
    for number in range(2):
        assert keep_profile("a", {"number": number})
        assert find_profile("a") == {"number": number}


@pytest.mark.parametrize("content", ["", "[]", "3", '{"a":'])
def test_a_damaged_profile_is_none(cache, content):
    keep_profile("a", {})
    next(cache.glob("profiles/*")).write_text(content)
    assert find_profile("a") is None


def test_a_file_that_goes_while_it_is_counted_has_no_size(cache, monkeypatch):
    monkeypatch.setattr("ovplace.store.cache._files", lambda kind: [cache / kind / "gone"])
    assert cache_content() == [CacheContent(kind, 1, 0) for kind in ("profiles", "blobs", "models")]


def test_where_nothing_can_be_written_nothing_is_kept(nowhere):
    assert keep_profile("a", {}) is False
    assert find_profile("a") is None
    assert [entry.files for entry in empty_cache()] == [0, 0, 0]
    blobs = Blobs(1000)
    assert not blobs.keep("a", b"content")
    assert blobs.lent() is None
    blobs.drop("a")


def test_the_folder_that_is_lent_is_that_of_the_blobs(cache):
    assert Blobs(1000).lent() == cache / "blobs"
    assert (cache / "blobs").is_dir()
    assert Blobs(1000).lent() == cache / "blobs"
    assert Blobs(0).lent() is None


def test_a_blob_that_cannot_be_put_in_its_place_leaves_nothing(cache, monkeypatch):
    def full(*_):
        raise OSError("the disk is full")

    monkeypatch.setattr(Path, "replace", full)
    assert not Blobs(1000).keep("a", b"content")
    assert list((cache / "blobs").iterdir()) == []
