"""The n-th call that changes a file fails: a library that stands before the C library of a process."""

from __future__ import annotations

import atexit
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ovplace.testing.faults.fault import Fault

SOURCE = Path(__file__).with_suffix(".c")


def available() -> bool:
    """Return whether this machine can build the library."""
    return shutil.which("gcc") is not None


@cache
def library() -> str:
    """Return the path of the library, built for this process; empty where it cannot be built."""
    if not available():
        return ""
    folder = tempfile.mkdtemp(prefix="ovplace-faults-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    path = f"{folder}/failing_calls.so"
    subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-w", "-o", path, str(SOURCE), "-ldl"], check=True)
    return path


@dataclass(frozen=True)
class FailingCall(Fault):
    """Which call of a process fails.

    Attributes:
        under: only files whose path begins so count.
        number: of the call, from 1; 0 for none.
        errno: how it fails.
        on: whether all later ones fail, too, as on a full disk.
        log: file that gets a line for each call: its name and the path.
    """

    under: Path
    number: int = 0
    errno: int = 0
    on: bool = False
    log: Path | None = None

    @property
    def environment(self) -> Mapping[str, str]:
        """Variables that the library reads."""
        log = {"FAIL_LOG": str(self.log)} if self.log else {}
        numbers = {"FAIL_AT": str(self.number), "FAIL_ERRNO": str(self.errno), "FAIL_ALL": str(int(self.on))}
        return {"FAIL_UNDER": str(self.under), **numbers, **log}
