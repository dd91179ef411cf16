"""Where temporary files go, found without writing one."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

_VARIABLES = ("TMPDIR", "TEMP", "TMP")
_USUAL = "/tmp"


def choose_temporary_folder() -> None:
    """Let `tempfile` use the folder that it would find, for this process.

    It would write a file there to see whether it can, and delete it: a process that is killed in between leaves it.
    """
    folders = [Path(folder) for folder in (*map(os.environ.get, _VARIABLES), _USUAL) if folder]
    usable = (folder for folder in folders if folder.is_dir() and os.access(folder, os.W_OK | os.X_OK))
    if tempfile.tempdir is None and (found := next(usable, None)):
        tempfile.tempdir = str(found.absolute())
