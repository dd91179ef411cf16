"""Texts of OpenVINO's exceptions without positions in its source."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

_POSITION = re.compile(r"(Exception from|Check '.*?' failed at) \S+:\d+:\s*")

EXTERNAL_DATA = re.compile(r"externally stored data in file \((.+?), offset")
"""What OpenVINO's ONNX reader says of weights in a file of their own that it cannot read."""


def last_line(error: Exception | str) -> str:
    """Return the last line of an exception that is no source position."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    texts = [line for line in lines if not re.match(r"Exception from|Check |FrontEnd API failed|\[ ?ERROR ?\]", line)]
    said = (texts or lines or [type(error).__name__])[-1].rstrip(".! ")[:300]
    if external := EXTERNAL_DATA.search(said):
        return f"its external data file '{external[1]}' is missing, or shorter than the model says"
    return f"there is not enough memory ({said})" if said == "std::bad_alloc" else said


def unwritten(error: Exception, folder: Path) -> str:
    """Return why a model could not be written: of a full disk OpenVINO says no more than `iostream error`.

    Args:
        error: what was raised.
        folder: where it was to be.
    """
    try:
        free = f" ({shutil.disk_usage(folder).free / 2**20:.1f} MiB are free there)"
    except OSError:
        free = ""
    said = last_line(error)
    return ("the disk is full, or fails" if "iostream error" in said else said) + free


def without_positions(error: Exception) -> str:
    """Return all that an exception says in one line, without the source positions it begins with."""
    text = " ".join(str(error).split())
    return _POSITION.sub("", text).strip() or text or type(error).__name__
