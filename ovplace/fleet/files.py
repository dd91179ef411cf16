"""Files that travel by hash: each once to a machine, checked when it has arrived and before it is used.

Others decide what is sent, so the room is limited: a longer file is refused, and those that were not used for the
longest time make way for a new one.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from ovplace.atomic import delete_abandoned, replacing
from ovplace.errors import StoreError
from ovplace.store.cache import cache_folder

CHUNK_BYTES = 4 * 2**20

ROOM_GIB = 20
"""Room for files unless told otherwise."""

_HASH_LENGTH = 64


def hash_of(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@dataclass(frozen=True)
class FileStore:
    """Files by hash.

    Attributes:
        folder: where they lie.
        room_bytes: the most that they may take together.
    """

    folder: Path
    room_bytes: int = ROOM_GIB * 2**30
    _adding: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False, compare=False)

    @classmethod
    def of_cache(cls, room_gib: float = ROOM_GIB) -> FileStore:
        """Return the store in the user's cache folder, without what killed processes have left of files.

        Args:
            room_gib: the most that files may take together, in GiB.
        """
        delete_abandoned(cache_folder() / "models")
        return cls(cache_folder() / "models", int(room_gib * 2**30))

    def path(self, digest: str) -> Path:
        """Return the place of a file.

        Raises:
            ValueError: `digest` is no hash; it may come from another machine, and must not name other files.
        """
        if len(digest) != _HASH_LENGTH or not set(digest) <= set("0123456789abcdef"):
            raise ValueError("not a hash")
        return self.folder / digest

    def has(self, digest: str) -> bool:
        """Return whether the file is there; one that is asked for counts as used."""
        try:
            os.utime(self.path(digest))
        except OSError:
            return False
        return True

    def drop_damaged(self, digest: str) -> None:
        """Delete a file whose content has changed since it arrived, as a loss of power may do; it can be sent anew."""
        with suppress(OSError):
            if hash_of(self.path(digest)) != digest:
                self.path(digest).unlink()

    def chunk(self, digest: str, offset: int) -> tuple[bytes, bool]:
        """Return a part of a file, and whether it is the last.

        Args:
            digest: hash of the file.
            offset: where the part begins, in bytes.

        Raises:
            OSError: it is not there.
        """
        os.utime(self.path(digest))  # it is used
        return read_chunk(self.path(digest), offset)

    def add_chunk(self, digest: str, offset: int, data: bytes, *, is_last: bool, sender: str = "") -> None:
        """Add a part of a file, in order; with the last one, the file is there.

        Args:
            digest: hash of the file.
            offset: where the part begins, in bytes.
            data: the part.
            is_last: whether it is the last.
            sender: what tells it from others that send the same file at the same time.

        Raises:
            StoreError: it cannot be written, is longer than there is room, or what has arrived has another hash.
        """
        path = self.path(digest)
        growing = path.with_name(path.name + _growing_suffix(sender))
        if offset + len(data) > self.room_bytes:
            growing.unlink(missing_ok=True)
            raise StoreError(
                f"a file of the model is longer than the {self.room_bytes / 2**30:g} GiB that '{self.folder}' has "
                "room for; start the scheduler and the workers with a larger --room"
            )
        try:
            with self._adding:
                self._add(path, growing, offset, data, is_last=is_last)
        except OSError as error:
            with suppress(OSError):  # on a full disk, it takes room that others need
                growing.unlink()
            raise StoreError(
                f"cannot keep a file in '{self.folder}': {error.strerror}; make room there, or set OVPLACE_CACHE to "
                "another folder"
            ) from error

    def _add(self, path: Path, growing: Path, offset: int, data: bytes, *, is_last: bool) -> None:
        """Add a part; one at a time, as each last one makes way for itself."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with growing.open("r+b" if offset else "wb") as file:
            file.seek(offset)
            file.write(data)
        if not is_last:
            return
        if hash_of(growing) != path.name:
            growing.unlink()
            raise StoreError(
                f"a file arrived with another content than its hash {path.name[:12]}; the same command sends it anew"
            )
        self._make_way(growing.stat().st_size)
        growing.replace(path)

    def drop_unfinished(self, sender: str = "") -> None:
        """Delete what has arrived of files that a sender will not send to the end.

        Args:
            sender: as in `add_chunk`.
        """
        for path in self.folder.glob("?" * _HASH_LENGTH + _growing_suffix(sender)):
            with suppress(OSError):
                path.unlink()

    def copy(self, digest: str, target: Path) -> None:
        """Copy a file, whose content is checked again.

        Args:
            digest: its hash.
            target: where to.

        Raises:
            StoreError: it is not there, or damaged, and then deleted.
        """
        try:
            os.utime(self.path(digest))  # it is used
            with replacing(target) as temporary:
                shutil.copyfile(self.path(digest), temporary)
                if hash_of(temporary) != digest:
                    self.path(digest).unlink(missing_ok=True)
                    raise StoreError(f"the file {digest[:12]} in '{self.folder}' is damaged; it was deleted")
        except OSError as error:
            raise StoreError(f"cannot copy a file from '{self.folder}': {error.strerror}") from error

    def _make_way(self, n_bytes: int) -> None:
        """Delete the files that were not used for the longest time, until there is room for another one.

        Raises:
            OSError: one cannot be deleted.
        """
        files = sorted(_files(self.folder))
        taken = n_bytes + sum(size for _, size, _ in files)
        for _, size, path in files:
            if taken <= self.room_bytes:
                return
            taken -= size
            path.unlink(missing_ok=True)


def _files(folder: Path) -> Iterator[tuple[float, int, Path]]:
    """Yield time of last use, size and path of each file; another thread or process may delete some meanwhile."""
    for path in folder.iterdir():
        with suppress(FileNotFoundError):
            if path.is_file() and not path.suffix:
                state = path.stat()
                yield state.st_mtime, state.st_size, path


def _growing_suffix(sender: str) -> str:
    """Return the end of the names of files that this process receives from a sender; `delete_abandoned` reads it."""
    return f"{sender}.{os.getpid()}.tmp"


def read_chunk(path: Path, offset: int) -> tuple[bytes, bool]:
    """Return a part of a file, and whether it is the last.

    Args:
        path: the file.
        offset: where the part begins, in bytes.

    Raises:
        OSError: it cannot be read.
    """
    with path.open("rb") as file:
        file.seek(offset)
        data = file.read(CHUNK_BYTES)
        return data, file.tell() >= path.stat().st_size
