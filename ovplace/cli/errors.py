"""From exceptions to one line and an exit code."""

from __future__ import annotations

import traceback
from collections.abc import Callable

import click

from ovplace.cli.output.console import Console
from ovplace.errors import OvplaceError

INTERRUPTED = 130


def exit_code(console: Console, act: Callable[[], object]) -> int:
    """Run `act` and return the exit code of the process.

    No exception but `SystemExit` gets out, which click raises quietly where the reader of standard output is gone.

    Args:
        console: says whether to print a traceback.
        act: the command.
    """
    try:
        code = act()
        return code if isinstance(code, int) else 0
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return error.exit_code
    except (Exception, KeyboardInterrupt) as error:
        if console.debug:
            traceback.print_exception(error)
        text, found = _explain(error)
        click.echo("Error: " + " ".join(line.strip() for line in text.splitlines()), err=True)
        return found


def _explain(error: BaseException) -> tuple[str, int]:
    """Return what to say of an error, and the exit code."""
    if isinstance(error, OvplaceError):
        return str(error), error.exit_code
    if isinstance(error, KeyboardInterrupt | click.Abort):
        return "interrupted", INTERRUPTED
    if isinstance(error, click.ClickException):
        return error.format_message() + _see_help(error), error.exit_code
    return f"internal error: {type(error).__name__}: {error}; run again with --debug and report it", 1


def _see_help(error: click.ClickException) -> str:
    context = getattr(error, "ctx", None)
    return f"; see '{context.command_path} --help'" if context else ""
