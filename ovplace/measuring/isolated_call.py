"""A function in a process of its own: what crashes there ends in one line, and not with the caller."""

from __future__ import annotations

import ctypes
import os
import pickle
import signal
import subprocess
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from math import inf
from tempfile import TemporaryFile, gettempdir
from typing import IO, TypeVar

from ovplace.errors import ModelError, OvplaceError, StoreError
from ovplace.measuring.child import KILL_DEADLINE_S, ending, kill_group
from ovplace.measuring.interpreter import running
from ovplace.measuring.messages import data_of, message_of, sendable

T = TypeVar("T")

DEADLINE_S = 600.0
"""Reading takes minutes for the largest models."""

_PR_SET_PDEATHSIG = 1  # linux/prctl.h

_EXPORT = "export the model anew, with another version of the exporter if need be"
_MEMORY = "is there enough memory?"  # the kernel kills what takes the last of it


def isolated_call(
    doing: str, act: Callable[..., T], *arguments: object, limit_s: float | None = None, working_s: float = 0.0
) -> T:
    """Return what a function returns in a fresh interpreter; starting that takes about 0.3 s.

    OpenVINO's readers have been seen to end with a segmentation fault: 2026.4 does for some ONNX files.

    Args:
        doing: what it does, as in "OpenVINO crashed while reading the model".
        act: the function, found by its name in its module.
        *arguments: of it; they and what it returns are passed on by pickle.
        limit_s: seconds after which the process is killed; None for `DEADLINE_S`, the longest.
        working_s: seconds that the function takes besides, as it was told to; infinite where that is not known.

    Raises:
        ModelError: the process ended before it answered, or did not answer in time.
        StoreError: the folder of temporary files is full.
        Exception: what the function raised.
    """
    own_s = min(limit_s or DEADLINE_S, DEADLINE_S)
    total_s = own_s + working_s
    try:
        code, answer, said = _answered(pickle.dumps((act, arguments)), total_s if total_s < inf else None)
    except subprocess.TimeoutExpired:
        if own_s == DEADLINE_S:
            raise ModelError(f"OpenVINO did not finish {doing} within {total_s:g} s; {_EXPORT}") from None
        raise ModelError(f"{doing} did not end within the {limit_s:g} s of the call; give more with --time") from None
    try:
        value, error = message_of(answer)
    except Exception:  # half an answer can raise anything
        raise ModelError(_death(doing, code, said)) from None
    if error is not None:
        raise error
    found: T = value
    return found


def _answered(request: bytes, limit_s: float | None) -> tuple[int, bytes, bytes]:
    """Return the exit code of a process that gets a request, and what it wrote to standard output and error.

    All of it goes through files: helpers that runtimes fork would hold pipes open after the end of the process.

    Raises:
        subprocess.TimeoutExpired: it did not end in time, and was killed.
        StoreError: the folder of temporary files is full.
    """
    with TemporaryFile(buffering=0) as asked, TemporaryFile() as answers, TemporaryFile() as errors:
        _write(asked, request)
        # A session of its own: Ctrl-C goes to the caller alone, which ends the process.
        process = subprocess.Popen(
            running(__name__), stdin=asked, stdout=answers, stderr=errors, start_new_session=True
        )
        try:
            code = process.wait(limit_s)
        except BaseException:
            if process.returncode is None:
                kill_group(process)
                with suppress(subprocess.TimeoutExpired):  # it is left behind, and ends when the driver lets it
                    process.wait(KILL_DEADLINE_S)
            raise
        answers.seek(0)
        errors.seek(0)
        return code, answers.read(), errors.read()


def _write(file: IO[bytes], request: bytes) -> None:
    """Write a request into a temporary file, from whose beginning it is read.

    Raises:
        StoreError: the disk is full.
    """
    left = memoryview(request)
    try:
        while left:
            left = left[file.write(left) :]
        file.seek(0)
    except OSError as error:
        raise StoreError(
            f"cannot write a temporary file: {error.strerror}; make room in '{gettempdir()}', or set TMPDIR to a "
            "folder with room"
        ) from error


def _death(doing: str, code: int, said: bytes) -> str:
    """Return what to say of a process without an answer: only one that was killed is a crash of OpenVINO."""
    how = ending(code, said)
    if code >= 0:
        return f"the process {doing} ended without an answer ({how}); run again with --debug and report it"
    hint = _MEMORY if -code == signal.SIGKILL else _EXPORT  # Windows has neither negative codes nor SIGKILL
    return f"OpenVINO crashed while {doing} ({how}); {hint}"


def _end_with_parent() -> None:
    """Let Linux kill this process when the one that waits for it is killed, even where it hangs or is stopped."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def main() -> None:
    """Answer the one request on standard input. Libraries that print must not disturb the answer."""
    _end_with_parent()
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    act, arguments = pickle.load(sys.stdin.buffer)
    try:
        answer = data_of((act(*arguments), None))
    except OvplaceError as error:
        answer = data_of((None, error))
    except Exception as error:
        sent = sendable(error)
        sent.add_note(traceback.format_exc())  # where it was raised is not passed on otherwise
        answer = data_of((None, sent))
    answers.write(answer)
    answers.flush()


if __name__ == "__main__":
    main()
