"""Standard streams that are closed, that nobody reads, or whose encoding lacks characters."""

from __future__ import annotations

import os
import sys
from io import TextIOWrapper
from pathlib import Path


def open_closed_streams() -> None:
    """Let what is written to closed streams vanish.

    Otherwise the next file that is opened has the number of the stream, and what native code or another process prints
    is written into it. Python has None for a stream that was closed when it started.
    """
    number = os.open(os.devnull, os.O_RDWR)
    while number <= 2:
        os.set_inheritable(number, True)
        number = os.open(os.devnull, os.O_RDWR)
    os.close(number)
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115 - until the process ends


def escape_missing_characters() -> None:
    """Write characters that the encoding of standard output lacks as escapes, as Python does on standard error."""
    if isinstance(sys.stdout, TextIOWrapper) and sys.stdout.errors == "strict":
        sys.stdout.reconfigure(errors="backslashreplace")


def let_go_of_output() -> None:
    """Write what is left of the output, or drop it where nobody reads it: Python would end with 120 in place of it."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
