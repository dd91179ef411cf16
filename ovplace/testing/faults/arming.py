"""A fault that strikes the next request: its name in a file, which the measuring process takes away."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path


def arm(file: Path, fault: str) -> None:
    """Let the next request produce a fault.

    Args:
        file: the file that the backend's setting `armed` names.
        fault: name of the fault.
    """
    new = file.with_name(f"{file.name}.new")
    new.write_text(fault, encoding="ascii")
    new.replace(file)


def disarm(file: str) -> str:
    """Return the name of the fault that is armed, which it is no more; empty for none."""
    if not file:
        return ""
    taken = f"{file}.{os.getpid()}"
    with suppress(OSError):
        Path(file).rename(taken)
        fault = Path(taken).read_text(encoding="ascii")
        Path(taken).unlink()
        return fault
    return ""
