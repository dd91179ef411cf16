"""What a process with a fault in it must not do: signal others, or delete files that are not its own."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import Any


def confine(folder: Path) -> None:
    """Let this process signal only itself and its descendants, and delete and rename only below `folder`.

    The home folder and the folder for temporary files are moved there.
    """
    os.environ.update(HOME=str(folder), TMPDIR=str(folder), OVPLACE_CACHE=str(folder / "cache"))
    os.environ.pop("XDG_CACHE_HOME", None)
    tempfile.tempdir = str(folder)
    sys.dont_write_bytecode = True
    mine, inside = os.getpid(), f"{folder.resolve()}{os.sep}"

    def check(event: str, arguments: tuple[Any, ...]) -> None:
        if event in ("os.kill", "os.killpg") and arguments[1] and not _descends(arguments[0], mine):
            raise PermissionError(f"{event}{arguments} is refused: another's process")
        if event in ("os.remove", "os.rename", "os.rmdir", "shutil.rmtree"):
            path = os.path.abspath(os.fsdecode(arguments[0]))  # noqa: PTH100, resolving would follow links
            if os.path.isabs(arguments[0]) and not path.startswith(inside):  # noqa: PTH117
                raise PermissionError(f"{event}{arguments} is refused: outside of {folder}")
        if event == "sqlite3.connect" and not _in_memory(arguments[0]) and not os.path.isabs(arguments[0]):  # noqa: PTH117
            raise PermissionError(f"{event}{arguments} is refused: a database in the working folder")

    sys.addaudithook(check)


def _in_memory(database: Any) -> bool:
    return str(database) == ":memory:" or "mode=memory" in str(database)  # the second is a URI, such as coverage's


def _descends(pid: int, ancestor: int) -> bool:
    while pid > 1:
        if pid == ancestor:
            return True
        try:
            pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            return False
    return False
