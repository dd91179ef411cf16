"""From exceptions to one line and an exit code."""

from __future__ import annotations

import errno
import sys
import tempfile
import traceback
from collections.abc import Callable
from contextlib import suppress

import click

from ovplace.cli.output.console import Console
from ovplace.cli.output.terminal import fitted
from ovplace.cli.stopping import exit_code_of, stopping_by_signals
from ovplace.errors import OvplaceError

INTERRUPTED = 130
STOPPED = "Stopped"
"""What is said of Ctrl-C where there is nothing to continue; it is no error of a server."""

LONGEST = 2000
"""Characters of an error line; what is longer is left out in the middle."""

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
"""Numbers of errors that say that an output or a disk takes no more."""

_REFUSED = (errno.EACCES, errno.EPERM, errno.ENAMETOOLONG, errno.ELOOP, errno.EROFS)
"""Numbers of errors by which the system refuses a path whatever the program does with it."""

_NO_MEMORY = (
    "can't allocate lock",
    "DefaultCPUAllocator:",
    "Storage size calculation overflowed",
    "Overflow when unpacking long",
    "array is too big",
    "Maximum allowed dimension exceeded",
    "Maximum allowed size exceeded",
)
"""What Python says where memory runs out as it makes a lock (`Modules/_threadmodule.c`), torch as it makes a tensor
(`c10/core/impl/alloc_cpu.cpp`), also one whose size is beyond 64 bits, and numpy of such an array
(`numpy/_core/src/multiarray/ctors.c`); none of them raises a `MemoryError`."""


def exit_code(console: Console, act: Callable[[], object]) -> int:
    """Run `act` and return the exit code of the process.

    No exception but `SystemExit` gets out, which click raises quietly where the reader of standard output is gone.

    Args:
        console: says whether to print a traceback.
        act: the command.
    """
    try:
        with stopping_by_signals():
            code = act()
        return code if isinstance(code, int) else 0
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return error.exit_code
    except (Exception, KeyboardInterrupt) as error:
        text, found = _explain(error)
        with suppress(OSError):  # the terminal may be gone
            if console.debug:
                traceback.print_exception(error)
            click.echo(fitted(text if text == STOPPED else f"Error: {_one_line(text)}", sys.stderr), err=True)
        return exit_code_of(error) or found


def _explain(error: BaseException) -> tuple[str, int]:
    """Return what to say of an error, and the exit code."""
    if isinstance(error, OvplaceError):
        return str(error), error.exit_code
    if isinstance(error, KeyboardInterrupt | click.Abort):
        return STOPPED, INTERRUPTED
    if isinstance(error, click.ClickException):
        return error.format_message().rstrip(".") + _see_help(error), error.exit_code
    if _is_out_of_memory(error):
        return "out of memory; what was measured is stored: repeat the same command where there is more", 1
    if isinstance(error, OSError) and (text := _of_the_system(error)):
        return text, 1
    return f"internal error: {type(error).__name__}: {error}; run again with --debug and report it", 1


def _of_the_system(error: OSError) -> str:
    """Return what to say where the system refuses an output or a path; empty for an error of another kind."""
    if any(frame.filename == tempfile.__file__ for frame in traceback.extract_tb(error.__traceback__)):
        return f"cannot make a temporary file: {error}; set TMPDIR to a folder that can be written"
    if error.errno in _FULL:
        return f"cannot write the output: {error.strerror}; make room, or write it elsewhere"
    if error.errno in _REFUSED and error.filename:
        return f"cannot use '{error.filename}': {error.strerror}; check the path and its permissions"
    return ""


def _is_out_of_memory(error: BaseException | None) -> bool:
    """Return whether memory ran out, also where C code made another error of that."""
    while error is not None:
        if isinstance(error, MemoryError) or any(text in str(error) for text in _NO_MEMORY):
            return True
        error = error.__cause__ or error.__context__
    return False


def _one_line(text: str) -> str:
    """Return a text on one line of bounded length; names in it come from files, and may hold escape sequences."""
    line = " ".join(part.strip() for part in text.splitlines())
    if len(line) > LONGEST:
        line = f"{line[: LONGEST // 2]} [...] {line[-LONGEST // 2 :]}"
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in line)


def _see_help(error: click.ClickException) -> str:
    context = getattr(error, "ctx", None)
    return f"; see '{context.command_path} --help'" if context else ""
