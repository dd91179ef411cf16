"""What a command leaves behind: processes, temporary files, sockets and locks. Linux only."""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

PATIENCE_S = 10.0
"""Processes that have been killed take a moment to be gone."""

_MARK = "OVPLACE_TEST_MARK"
_TEMPORARY = ("*.tmp", "*.lock", "*-wal", "*-shm", "*-journal")


class Marked:
    """An environment by which all processes of a command, and their temporary files, are found again.

    Attributes:
        environment: of the command to watch.
        temporary: folder of its temporary files and sockets.
    """

    def __init__(self, temporary: Path) -> None:
        """Make the folder for temporary files."""
        temporary.mkdir(parents=True, exist_ok=True)
        self._mark = f"{_MARK}={uuid.uuid4().hex}"
        name, value = self._mark.split("=")
        self.temporary = temporary
        self.environment = {**os.environ, name: value, "TMPDIR": str(temporary)}

    def processes(self) -> list[int]:
        """Return the ids of the command's processes that are there, zombies excluded."""
        return [int(path.name) for path in Path("/proc").glob("[0-9]*") if self._is_one(path)]

    def left_behind(self, folder: Path) -> list[str]:
        """Return what is still there after the command has ended.

        Args:
            folder: its run folder.
        """
        end = time.monotonic() + PATIENCE_S
        while (running := self.processes()) and time.monotonic() < end:
            time.sleep(0.02)
        return [*(f"process {pid}" for pid in running), *map(str, self._files(folder))]

    def _is_one(self, process: Path) -> bool:
        try:
            return self._mark.encode() in (process / "environ").read_bytes().split(b"\0")
        except OSError:
            return False

    def _files(self, folder: Path) -> Iterator[Path]:
        yield from (path for path in self.temporary.rglob("*") if not path.is_dir())
        for pattern in _TEMPORARY:
            yield from folder.rglob(pattern)
