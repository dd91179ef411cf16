"""Replacing a file so that a crash leaves either the old content or the new one."""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
import threading
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from errno import EISDIR
from pathlib import Path

from ovplace.errors import StoreError


def atomic_write(path: Path, content: str | bytes | memoryview) -> None:
    """Replace the content of a file.

    Args:
        path: the file.
        content: its new content; text is written as UTF-8.

    Raises:
        OSError: it cannot be written; the old file stays.
    """
    with replacing(path) as temporary:
        temporary.write_bytes(content.encode() if isinstance(content, str) else content)


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a path for the new content of `path`, which replaces the old one when the block ends without an error.

    A device or a pipe, such as `/dev/null`, stays and is given the content.

    Raises:
        OSError: it cannot be written; the old file stays.
    """
    if not path.name:  # `.` and `/`, which no file replaces
        raise IsADirectoryError(EISDIR, os.strerror(EISDIR), str(path))
    if _must_stay(path):
        with tempfile.TemporaryDirectory() as folder:
            yield (new := Path(folder) / path.name)
            path.write_bytes(new.read_bytes())
        return
    temporary = path.with_name(f"{path.name}.{_writer()}.tmp")
    try:
        yield temporary
        replace_file(temporary, path)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise


def _writer() -> str:
    """Return the number of this process and that of this thread: another one may write the same file meanwhile."""
    return f"{os.getpid()}-{threading.get_native_id()}"


def _must_stay(path: Path) -> bool:
    """Return whether a path is no file, or one of `/dev`: the superuser could replace `/dev/stdout` for everybody."""
    return path.exists() and not path.is_dir() and (not path.is_file() or path.parent == Path("/dev"))


@contextmanager
def temporary_folder(folder: Path, name: str) -> Iterator[Path]:
    """Yield an empty folder in another one, which is deleted when the block ends.

    Unlike one of `tempfile`, it is found again where this process is killed.

    Args:
        folder: where it is made.
        name: the beginning of its name.

    Raises:
        StoreError: it cannot be made.
    """
    path = folder / f"{name}.{_writer()}.tmp"
    shutil.rmtree(path, ignore_errors=True)  # of a killed process: in a container the next one may have its number
    try:
        path.mkdir()
    except OSError as error:
        raise StoreError(f"cannot write '{path}': {error.strerror}; check the folder and the disk") from error
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def delete_abandoned(folder: Path, names: Collection[str] = ()) -> None:
    """Delete the temporary files and folders that killed processes have left in a folder.

    Args:
        folder: it need not exist, and files that cannot be deleted stay.
        names: what is deleted was made for one of these; by default for any, in a folder that is ovplace's alone.
    """
    for path in folder.glob("*.tmp"):
        name, _, writer = path.stem.rpartition(".")
        if name and (not names or name in names) and not _is_running(writer.partition("-")[0]):
            with suppress(OSError):
                shutil.rmtree(path) if path.is_dir() else path.unlink()


def _is_running(pid: str) -> bool:
    """Return whether there may be a process of that number."""
    if sys.platform == "win32" or not pid.isdecimal():
        return True  # signal 0 asks nothing there, it is Ctrl-C
    try:
        os.kill(int(pid), 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        return True
    return True


def replace_file(new: Path, path: Path) -> None:
    """Put the complete file `new` in the place of `path`, once its content has reached the disk.

    Args:
        new: a file on the same file system, which is gone afterwards.
        path: the name to replace.

    Raises:
        OSError: that cannot be done.
    """
    with new.open("r+b") as file:  # Windows flushes no file that is open for reading alone
        os.fsync(file.fileno())
    new.replace(path)


def write_json(path: Path, data: object) -> None:
    """Write `data` as JSON so that a crash leaves either the old file or the new one.

    Args:
        path: the file.
        data: what JSON can hold.

    Raises:
        StoreError: the file cannot be written.
    """
    try:
        atomic_write(path, json.dumps(data, indent=2) + "\n")
    except OSError as error:
        raise StoreError(f"cannot write '{path}': {error.strerror}; check the folder and the disk") from error
