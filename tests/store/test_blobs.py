import errno
import os
from pathlib import Path

import pytest

from ovplace.store import blobs as module
from ovplace.store.blobs import Blobs


@pytest.fixture
def blobs(tmp_path):
    return Blobs(1000, tmp_path / "blobs")


def files(blobs):
    return sorted(path.name for path in blobs.folder.iterdir())


def test_what_is_kept_is_found(blobs):
    assert blobs.find("a") is None
    assert blobs.keep("a", b"content")
    assert blobs.find("a") == b"content"
    blobs.drop("a")
    assert blobs.find("a") is None


@pytest.mark.parametrize("damage", [b"", b"ovplace", b"ovplace blob 2\n" + bytes(32) + b"content"])
def test_a_damaged_file_is_as_good_as_none_and_goes(blobs, damage):
    blobs.keep("a", b"content")
    (blobs.folder / "a.blob").write_bytes(damage)
    assert blobs.find("a") is None
    assert files(blobs) == []


def test_a_flipped_bit_is_seen(blobs):
    blobs.keep("a", b"content")
    path = blobs.folder / "a.blob"
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    assert blobs.find("a") is None


def test_the_least_recently_used_are_deleted_beyond_the_limit(blobs):
    for number, key in enumerate("abc"):
        blobs.keep(key, bytes(250))
        os.utime(blobs.folder / f"{key}.blob", (number, number))
    assert blobs.find("a") is not None  # used just now
    blobs.keep("d", bytes(250))
    assert files(blobs) == ["a.blob", "c.blob", "d.blob"]


def test_one_that_is_too_large_is_not_kept(blobs):
    assert not blobs.keep("a", bytes(2000))


def test_a_limit_of_zero_is_no_cache(blobs):
    blobs.keep("a", b"content")
    off = Blobs(0, blobs.folder)
    assert not off.keep("b", b"x")
    assert off.find("a") is None
    assert blobs.find("a") == b"content"


def test_one_that_leaves_no_room_for_its_header_drives_no_others_out(blobs):
    blobs.keep("a", b"content")
    size = (blobs.folder / "a.blob").stat().st_size
    exact = Blobs(size, blobs.folder)
    assert not exact.keep("b", b"content!")
    assert exact.find("a") == b"content"
    assert exact.keep("b", b"CONTENT")
    assert exact.find("b") == b"CONTENT"


def test_files_of_killed_processes_are_deleted_after_an_hour(blobs):
    blobs.keep("a", b"content")
    old, new = blobs.folder / "b.blob.1.tmp", blobs.folder / "c.blob.2.tmp"
    old.write_bytes(b"")
    new.write_bytes(b"")
    os.utime(old, (0, 0))
    blobs.keep("d", b"content")
    assert files(blobs) == ["a.blob", "c.blob.2.tmp", "d.blob"]


def test_a_folder_that_cannot_be_written_is_no_cache(tmp_path):
    (tmp_path / "file").write_text("")
    blobs = Blobs(1000, tmp_path / "file" / "blobs")
    assert blobs.keep("a", b"content") is False
    assert blobs.find("a") is None


def test_what_changes_the_folder_is_noticed(blobs):
    assert blobs.changed_ns() == 0, "there is no folder"
    blobs.keep("a", b"content")
    os.utime(blobs.folder, ns=(5, 5))
    assert blobs.changed_ns() == 5
    blobs.drop("a")
    assert blobs.changed_ns() > 5


def test_files_that_fill_the_limit_exactly_stay(blobs):
    blobs.keep("a", b"content")
    size = (blobs.folder / "a.blob").stat().st_size
    exact = Blobs(2 * size, blobs.folder)
    exact.keep("b", b"CONTENT")
    assert files(blobs) == ["a.blob", "b.blob"]
    Blobs(2 * size - 1, blobs.folder).shrink()
    assert len(files(blobs)) == 1


def test_a_file_that_another_process_deletes_first_keeps_none_from_going(blobs, monkeypatch):
    for number, key in enumerate("ab"):
        blobs.keep(key, bytes(250))
        os.utime(blobs.folder / f"{key}.blob", (number, number))
    found = [*module._files(blobs.folder), (blobs.folder / "gone.blob", 0.5, 900)]
    monkeypatch.setattr(module, "_files", lambda folder: found)
    blobs.shrink()
    assert files(blobs) == ["b.blob"]


@pytest.fixture
def refuse(monkeypatch):
    """Refuse to change files, as another user's in a shared folder."""

    def refuse(owner, method, name):
        real = getattr(owner, method)

        def change(path, *given, **named):
            if Path(path).name == name:
                raise PermissionError(errno.EPERM, os.strerror(errno.EPERM), str(path))
            return real(path, *given, **named)

        monkeypatch.setattr(owner, method, change)

    return refuse


def test_a_blob_of_another_user_is_found(blobs, refuse):
    blobs.keep("a", b"content")
    refuse(os, "utime", "a.blob")
    assert blobs.find("a") == b"content"


def test_a_file_of_another_user_keeps_none_from_going(blobs, refuse):
    for number, key in enumerate("abc"):
        blobs.keep(key, bytes(250))
        os.utime(blobs.folder / f"{key}.blob", (number, number))
    refuse(Path, "unlink", "b.blob")
    Blobs(300, blobs.folder).shrink()
    assert files(blobs) == ["b.blob", "c.blob"]


def test_kernels_of_another_user_keep_no_others_from_being_kept_or_deleted(blobs, refuse):
    blobs.lent()
    for name in "123":
        kernel(blobs, name, 10, 1)
    first = next(blobs.folder.glob("*.cl_cache")).name  # the others come after it
    refuse(Path, "chmod", first)
    refuse(Path, "unlink", first)
    blobs.keep_kernels()
    blobs.drop_unfinished_kernels()
    assert files(blobs) == ["1.cl_cache", "2.cl_cache", "3.cl_cache"]
    blobs.drop_kernels()
    assert files(blobs) == [first]


def kernel(blobs, name, n_bytes, second):
    path = blobs.folder / f"{name}.cl_cache"
    path.write_bytes(bytes(n_bytes))
    os.utime(path, (second, second))


def test_kernels_count_as_blobs(blobs):
    blobs.lent()
    kernel(blobs, "1", 400, 1)
    kernel(blobs, "2", 400, 3)
    blobs.keep("a", bytes(250))
    os.utime(blobs.folder / "a.blob", (2, 2))
    blobs.shrink()
    assert files(blobs) == ["2.cl_cache", "a.blob"]


def test_kernels_that_nobody_keeps_are_unfinished(blobs):
    blobs.lent()
    kernel(blobs, "1", 10, 1)
    blobs.keep_kernels()
    kernel(blobs, "2", 10, 2)
    blobs.keep("a", b"content")
    blobs.drop_unfinished_kernels()
    assert files(blobs) == ["1.cl_cache", "a.blob"]
    blobs.drop_kernels()
    assert files(blobs) == ["a.blob"]


def test_a_kernel_that_another_process_deletes_keeps_no_other_from_being_kept(blobs, monkeypatch):
    blobs.lent()
    for name in "123":
        kernel(blobs, name, 10, 1)
    (blobs.folder / "gone.cl_cache").symlink_to("nowhere")  # is listed, and then not there
    chmod = Path.chmod

    def after_another_process(path, mode):
        if path.name == "2.cl_cache":
            path.unlink()
        chmod(path, mode)

    monkeypatch.setattr(Path, "chmod", after_another_process)
    blobs.keep_kernels()
    blobs.drop_unfinished_kernels()
    assert files(blobs) == ["1.cl_cache", "3.cl_cache", "gone.cl_cache"]
    assert [(blobs.folder / f"{name}.cl_cache").stat().st_mode & 0o222 for name in "13"] == [0, 0]


def test_kernels_beyond_the_limit_are_not_kept(blobs):
    blobs.lent()
    kernel(blobs, "1", 2000, 1)
    blobs.keep_kernels()
    assert files(blobs) == []


def test_there_may_be_no_folder_for_kernels(tmp_path):
    nowhere = Blobs(1000, tmp_path / "nowhere")
    nowhere.keep_kernels()
    nowhere.drop_unfinished_kernels()
    nowhere.drop_kernels()
    assert not (tmp_path / "nowhere").exists()
