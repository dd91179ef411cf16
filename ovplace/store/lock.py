"""A lock that one process holds: by the operating system, which releases it when the process dies."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from ovplace.core.text.json_text import parse_json
from ovplace.errors import InUseError, StoreError

if sys.platform == "win32":
    import msvcrt

    _BEYOND = 1 << 30  # what is locked cannot be read, so lock a byte behind the text

    _SLOTS = 64  # who shares a lock holds one byte, who holds it alone all of them

    def _taken(descriptor: int, *, is_shared: bool = False) -> bool:
        for first, count in [(slot, 1) for slot in range(_SLOTS)] if is_shared else [(0, _SLOTS)]:
            os.lseek(descriptor, _BEYOND + first, os.SEEK_SET)
            with suppress(OSError):
                msvcrt.locking(descriptor, msvcrt.LK_NBLCK, count)
                return True
        return False
else:
    import fcntl

    def _taken(descriptor: int, *, is_shared: bool = False) -> bool:
        try:
            fcntl.flock(descriptor, (fcntl.LOCK_SH if is_shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


_ATTEMPTS, _PAUSE_S = 50, 0.02
"""Who only asks for the holder, or is the last to share, holds the lock for a moment, and does not sign it."""

_SURE = 3
"""Attempts after which a holder that has signed is believed."""


@dataclass(frozen=True)
class Holder:
    """The process that holds a lock.

    Attributes:
        pid: its number; 0 where it has not said yet.
        since: local time at which it took the lock.
    """

    pid: int = 0
    since: str = ""

    def __str__(self) -> str:
        """Return it in words."""
        return f"process {self.pid} since {self.since}" if self.pid else "another process"


@contextmanager
def locked(path: Path, what: str, advice: str, elsewhere: str = "choose another place with -o") -> Iterator[None]:
    """Hold a lock file while the block runs; it is gone afterwards.

    Args:
        path: the lock file.
        what: what the error text says of the holder, such as `'runs/demo' is being searched by`.
        advice: what to do instead.
        elsewhere: what to do where the file cannot be written.

    Raises:
        InUseError: another process holds it; the text names that.
        StoreError: the file cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = _acquired(path)
        if descriptor is None:
            raise InUseError(f"{what} {holder(path) or Holder()}; {advice}")
        _rewrite(descriptor, json.dumps(asdict(Holder(os.getpid(), time.strftime("%Y-%m-%d %H:%M:%S")))))
    except OSError as error:
        raise StoreError(f"cannot write '{path}': {error.strerror}; {elsewhere}") from error
    try:
        yield
    finally:
        with suppress(OSError):
            path.unlink()  # while it is held, so that nobody else's file goes
        os.close(descriptor)


@contextmanager
def shared(path: Path, what: str, advice: str) -> Iterator[None]:
    """Keep others from holding a lock file alone while the block runs; any number of processes may do so at once.

    Args:
        path: the lock file.
        what: what the error text says of the holder.
        advice: what to do instead.

    Raises:
        InUseError: another process holds it alone; the text names that.
        StoreError: the file cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = _acquired(path, is_shared=True)
        if descriptor is None:
            raise InUseError(f"{what} {holder(path) or Holder()}; {advice}")
        _rewrite(descriptor, "")  # what a killed holder has left
    except OSError as error:
        raise StoreError(f"cannot write '{path}': {error.strerror}") from error
    try:
        yield
    finally:
        with suppress(OSError):
            if _taken(descriptor):  # nobody else shares it
                path.unlink()
        os.close(descriptor)


def holder(path: Path) -> Holder | None:
    """Return the process that holds a lock file; None where none does, or where that cannot be found out."""
    try:
        descriptor = _opened(path)
    except OSError:
        return None
    try:
        if _taken(descriptor):
            return None
        os.lseek(descriptor, 0, os.SEEK_SET)
        return Holder(**parse_json(os.read(descriptor, 1000)))
    except OSError:  # such as of a file system that has no locks
        return None
    except (ValueError, TypeError):
        return Holder()
    finally:
        os.close(descriptor)


def _opened(path: Path) -> int:
    """Return the descriptor of a lock file, which may be somebody else's or on a read-only disk.

    Raises:
        OSError: it cannot be read.
    """
    try:
        return os.open(path, os.O_RDWR)  # NFS locks nothing that is open for reading alone
    except OSError:
        return os.open(path, os.O_RDONLY)


def _rewrite(descriptor: int, text: str) -> None:
    """Replace what stands in a lock file that is held; where that fails, it is no longer held.

    Raises:
        OSError: it cannot be written.
    """
    try:
        os.ftruncate(descriptor, 0)
        os.lseek(descriptor, 0, os.SEEK_SET)
        os.write(descriptor, text.encode())
    except OSError:
        os.close(descriptor)
        raise


def _acquired(path: Path, *, is_shared: bool = False) -> int | None:
    """Return the descriptor of the lock file, held; None where another process keeps this one from holding it."""
    for attempt in range(1, _ATTEMPTS + 1):
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            if _taken(descriptor, is_shared=is_shared) and _is_file(descriptor, path):
                return descriptor
        except OSError:  # such as of a file system that has no locks
            os.close(descriptor)
            raise
        os.close(descriptor)
        if attempt >= _SURE and (found := holder(path)) and found.pid:
            return None
        time.sleep(_PAUSE_S)
    return None


def _is_file(descriptor: int, path: Path) -> bool:
    """Return whether the open file is still the one of that name: its last holder may have removed it meanwhile."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False
