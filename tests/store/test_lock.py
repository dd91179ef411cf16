"""A lock has one holder, who is named, and is free again however that one ends."""

import errno
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from ovplace.errors import InUseError, StoreError
from ovplace.store import lock
from ovplace.store.lock import holder, locked, shared

HOLDS = """
import sys, time
from pathlib import Path
from ovplace.store.lock import locked
with locked(Path(sys.argv[1]), "it is held by", "wait"):
    print("held", flush=True)
    time.sleep(60)
"""


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run.lock"


@pytest.fixture
def other(path):
    """Return another process that holds the lock."""
    with subprocess.Popen([sys.executable, "-c", HOLDS, str(path)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


def hold(path):
    with locked(path, "it is held by", "wait"):
        return holder(path)


def test_it_is_held_once_and_the_holder_is_named(path, other):
    before = list(Path("/proc/self/fd").iterdir())
    with pytest.raises(InUseError, match=rf"^it is held by process {other.pid} since 2\d{{3}}-\S+ \S+; wait$"):
        hold(path)
    assert holder(path).pid == other.pid
    assert len(list(Path("/proc/self/fd").iterdir())) == len(before)


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_it_is_free_when_its_holder_dies(path, other, how):
    other.send_signal(how)
    other.wait()
    assert holder(path) is None
    assert hold(path).pid == os.getpid()


def test_nothing_is_left(path):
    assert hold(path).pid == os.getpid()
    assert not path.exists()
    with pytest.raises(ZeroDivisionError), locked(path, "", ""):
        1 / 0  # noqa: B018
    assert hold(path)


@pytest.mark.parametrize("how", [locked, shared])
def test_folders_on_the_way_are_made_and_no_file_is_left(tmp_path, how):
    for _ in range(2):
        with how(tmp_path / "a" / "b" / "run.lock", "", ""):
            assert (tmp_path / "a" / "b" / "run.lock").exists()
        assert not (tmp_path / "a" / "b" / "run.lock").exists()


def test_asking_who_holds_it_makes_no_file(path):
    assert holder(path) is None
    assert not path.exists()


@pytest.mark.usefixtures("impatient")
def test_a_holder_that_has_not_said_who_it_is(path, other):
    path.write_text("")
    assert holder(path) == lock.Holder()
    with pytest.raises(InUseError, match="held by another process; wait"):
        hold(path)


def test_a_place_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot write"):
        hold(tmp_path / "file" / "run.lock")


def test_a_full_disk_leaves_nobody_holding_it(path, monkeypatch):
    def full(descriptor, data):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch, pytest.raises(StoreError, match="No space left"):
        patch.setattr(os, "write", full)
        hold(path)
    assert hold(path).pid == os.getpid()


def test_a_disk_that_fails_leaves_nobody_sharing_it(path, monkeypatch):
    def failing(descriptor, length):
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patch, pytest.raises(StoreError, match="Input/output error"):
        patch.setattr(os, "ftruncate", failing)
        with shared(path, "it is held by", "wait"):
            pass
    assert hold(path).pid == os.getpid()


def test_the_holder_is_named_where_its_file_can_only_be_read(path, other, monkeypatch):
    real = os.open

    def readable(name, flags, *rest):
        if flags & os.O_RDWR:
            raise PermissionError(errno.EACCES, "Permission denied")
        return real(name, flags, *rest)

    monkeypatch.setattr(os, "open", readable)
    assert holder(path).pid == other.pid


@pytest.mark.parametrize("text", ["[" * 900, "[1]", '{"pid": ', '{"host": 1}'])
def test_a_holder_whose_file_is_damaged(path, other, text):
    path.write_text(text)
    assert holder(path) == lock.Holder()


@pytest.mark.skipif(sys.platform == "win32", reason="counts open files as Linux lists them")
def test_a_file_system_without_locks_leaves_no_file_open(path, monkeypatch):
    def none(descriptor, operation):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("fcntl.flock", none)
    before = len(list(Path("/proc/self/fd").iterdir()))
    with pytest.raises(StoreError, match="No locks available"):
        hold(path)
    assert holder(path) is None
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_a_file_that_its_last_holder_removes_meanwhile_is_made_anew(path, monkeypatch):
    real, removed = lock._taken, []

    def taken(descriptor, **how):
        if not removed:
            removed.append(path.unlink())
        return real(descriptor, **how)

    monkeypatch.setattr(lock, "_taken", taken)
    assert hold(path).pid == os.getpid()
    assert removed


@pytest.mark.skipif(sys.platform == "win32", reason="holds it by flock")
def test_who_holds_it_for_a_moment_is_waited_for(path):
    import fcntl

    path.touch()
    descriptor = os.open(path, os.O_RDWR)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    release = threading.Timer(0.2, os.close, (descriptor,))
    release.start()
    with shared(path, "it is held by", "wait"):
        release.join()


@pytest.mark.usefixtures("impatient")
def test_any_number_share_it_and_nobody_holds_it_alone_meanwhile(path, other):
    with pytest.raises(InUseError, match=f"process {other.pid}"), shared(path, "it is held by", "wait"):
        pass
    other.kill()
    other.wait()
    with shared(path, "it is held by", "wait"):
        with shared(path, "it is held by", "wait"):
            pass
        with pytest.raises(InUseError, match=r"^it is held by another process; wait$"):
            hold(path)
    assert hold(path).pid == os.getpid()
    assert not path.exists()
