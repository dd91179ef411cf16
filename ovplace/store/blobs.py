"""Compiled models and kernels on disk: one file each in the user's cache folder, shared by all runs.

A cache that cannot be read or written is no cache: nothing here raises. A blob that is damaged is as good as none, and
files of another user that cannot be changed stay as they are.
Kernels are files of OpenVINO's GPU plugin; whole ones are read-only, and those that a process was writing when it died
are deleted.
"""

from __future__ import annotations

import hashlib
import os
import stat
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ovplace.errors import StoreError
from ovplace.store.cache import cache_folder

_MAGIC = b"ovplace blob 2\n"
_DIGEST_BYTES = 32
_HEAD_BYTES = len(_MAGIC) + _DIGEST_BYTES
_SUFFIX = ".blob"
_KERNEL_SUFFIX = ".cl_cache"
_WHOLE = 0o444

_ABANDONED_S = 3600.0
"""A temporary file of this age belongs to a process that was killed."""


@dataclass(frozen=True)
class Blobs:
    """The compiled models and kernels that are kept.

    Attributes:
        limit_bytes: size of all files together; the least recently used ones are deleted beyond it, kernels by the
            time when they were written. 0 for no cache.
        folder: where they are; `blobs` in the cache folder by default.
    """

    limit_bytes: int
    folder: Path | None = None

    def find(self, key: str) -> bytes | None:
        """Return the blob stored under `key`, None if there is none that is whole."""
        if not self.limit_bytes:
            return None
        try:
            path = self._path(key)
            with path.open("rb") as file:
                head, blob = file.read(_HEAD_BYTES), file.read()
            if head != _head(blob):
                path.unlink()
                return None
            with suppress(OSError):  # of another user, or on a disk that cannot be written
                os.utime(path)  # used just now
        except (OSError, StoreError):
            return None
        return blob

    def keep(self, key: str, blob: bytes | memoryview) -> bool:
        """Store a blob, and delete the least recently used ones where there is no room.

        Args:
            key: hash of all that it depends on.
            blob: the compiled model.

        Returns:
            Whether it could be written.
        """
        if _HEAD_BYTES + len(blob) > self.limit_bytes:
            return False
        try:
            path = self._path(key)
            path.parent.mkdir(parents=True, exist_ok=True)
            # Not synchronised: a file that a power failure leaves half written does not match its digest.
            temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
            try:
                with temporary.open("wb") as file:
                    file.writelines((_head(blob), blob))
                temporary.replace(path)
            except BaseException:
                temporary.unlink(missing_ok=True)
                raise
        except (OSError, StoreError):
            return False
        self.shrink()
        return True

    def drop(self, key: str) -> None:
        """Delete the blob stored under `key`, if there is one."""
        with suppress(OSError, StoreError):
            self._path(key).unlink()

    def changed_ns(self) -> int:
        """Return when a file was last added to the folder or deleted from it; 0 if that is not known."""
        try:
            return self._home().stat().st_mtime_ns
        except (OSError, StoreError):
            return 0

    def keep_kernels(self) -> None:
        """Keep what the GPU plugin has written into the folder that it was lent: it is whole."""
        with suppress(OSError, StoreError):
            if new := list(self._unfinished()):
                for path in new:
                    with suppress(OSError):  # another process has deleted it, or another user is writing it
                        path.chmod(_WHOLE)
                self.shrink()

    def drop_unfinished_kernels(self) -> None:
        """Delete the kernels that nobody has kept."""
        with suppress(OSError, StoreError):
            for path in self._unfinished():
                _delete(path)

    def drop_kernels(self) -> None:
        """Delete all kernels."""
        with suppress(OSError, StoreError):
            for path in self._home().glob(f"*{_KERNEL_SUFFIX}"):
                _delete(path)

    def lent(self) -> Path | None:
        """Return the folder for OpenVINO's own cache, whose files count as blobs; None where there is to be none."""
        if not self.limit_bytes:
            return None
        try:
            self._home().mkdir(parents=True, exist_ok=True)
        except (OSError, StoreError):
            return None
        return self._home()

    def shrink(self) -> None:
        """Delete the least recently used files beyond the limit."""
        total = 0
        with suppress(OSError, StoreError):
            _delete_abandoned(self._home())
            for path, _, size in sorted(_files(self._home()), key=lambda found: found[1], reverse=True):
                total += size
                if total > self.limit_bytes:
                    _delete(path)

    def _unfinished(self) -> Iterator[Path]:
        for path in self._home().glob(f"*{_KERNEL_SUFFIX}"):
            with suppress(FileNotFoundError):  # another process has deleted it
                if path.stat().st_mode & stat.S_IWUSR:
                    yield path

    def _home(self) -> Path:
        return self.folder or cache_folder() / "blobs"

    def _path(self, key: str) -> Path:
        return self._home() / f"{key}{_SUFFIX}"


def _delete(path: Path) -> None:
    with suppress(OSError):  # another process has deleted it, or it is another user's
        path.unlink()


def _delete_abandoned(folder: Path) -> None:
    for path in folder.glob("*.tmp"):
        with suppress(OSError):
            if time.time() - path.stat().st_mtime > _ABANDONED_S:
                path.unlink()


def _files(folder: Path) -> list[tuple[Path, float, int]]:
    """Return path, time of last use and size of each file; other processes may delete some meanwhile."""
    found = []
    for path in (*folder.glob(f"*{_SUFFIX}"), *folder.glob(f"*{_KERNEL_SUFFIX}")):
        with suppress(OSError):
            state = path.stat()
            found.append((path, state.st_mtime, state.st_size))
    return found


def _head(blob: bytes | memoryview) -> bytes:
    # SHA-256, as processors have instructions for it: twice as fast as BLAKE2b on blobs of hundreds of MB.
    return _MAGIC + hashlib.sha256(blob).digest()
