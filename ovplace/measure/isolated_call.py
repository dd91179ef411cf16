"""A function in a process of its own: what crashes there ends in one line, and not with the caller."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import traceback
from collections.abc import Callable
from typing import TypeVar

from ovplace.errors import ModelError, OvplaceError
from ovplace.measure.child import ending

T = TypeVar("T")

_EXPORT = "export the model anew, with another version of the exporter if need be"
_MEMORY = "is there enough memory?"  # the kernel kills what takes the last of it


def isolated_call(doing: str, act: Callable[..., T], *arguments: object) -> T:
    """Return what a function returns in a fresh interpreter; starting that takes about 0.3 s.

    OpenVINO's readers have been seen to end with a segmentation fault: 2026.4 does for some ONNX files.

    Args:
        doing: what it does, as in "OpenVINO crashed while reading the model".
        act: the function, found by its name in its module.
        *arguments: of it; they and what it returns are passed on by pickle.

    Raises:
        ModelError: the process ended before it answered.
        Exception: what the function raised.
    """
    # A session of its own: Ctrl-C goes to the caller alone, which ends the process.
    done = subprocess.run(
        [sys.executable, "-m", __name__],
        input=pickle.dumps((act, arguments)),
        capture_output=True,
        start_new_session=True,
        check=False,
    )
    try:
        value, error = pickle.loads(done.stdout)
    except Exception:  # half an answer can raise anything
        raise ModelError(_death(doing, done.returncode, done.stderr)) from None
    if error is not None:
        raise error
    found: T = value
    return found


def _death(doing: str, code: int, said: bytes) -> str:
    """Return what to say of a process without an answer: only one that was killed is a crash of OpenVINO."""
    how = ending(code, said)
    if code >= 0:
        return f"the process {doing} ended without an answer ({how}); run again with --debug and report it"
    hint = _MEMORY if -code == signal.SIGKILL else _EXPORT  # Windows has neither negative codes nor SIGKILL
    return f"OpenVINO crashed while {doing} ({how}); {hint}"


def main() -> None:
    """Answer the one request on standard input. Libraries that print must not disturb the answer."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    act, arguments = pickle.load(sys.stdin.buffer)
    try:
        answer = pickle.dumps((act(*arguments), None))
    except OvplaceError as error:
        answer = pickle.dumps((None, error))
    except Exception as error:
        error.add_note(traceback.format_exc())  # where it was raised is not passed on otherwise
        answer = pickle.dumps((None, error))
    answers.write(answer)
    answers.flush()


if __name__ == "__main__":
    main()
