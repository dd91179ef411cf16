"""The command line: one command a file, in the folder of its section, loaded when it is called.

Results go to standard output, messages and progress to standard error. Exit codes: 0 done; 1 a known error; 2 usage;
3 finished without what was required; 130, 143 or 129 stopped by Ctrl-C, SIGTERM or SIGHUP, with everything measured
saved.
"""

from __future__ import annotations

import difflib
import importlib
import sys
import warnings
from collections.abc import Sequence
from typing import Any

import click

from ovplace.cli.arguments.options import common
from ovplace.cli.errors import exit_code
from ovplace.cli.output.console import Console
from ovplace.cli.output.streams import escape_missing_characters, let_go_of_output, open_closed_streams
from ovplace.cli.temporary_files import choose_temporary_folder
from ovplace.errors import ReportWarning
from ovplace.measuring.interpreter import without_telemetry
from ovplace.version import __version__

SECTIONS = {
    "Search": ("search", ("optimize", "ablate", "train")),
    "Results": ("results", ("show", "check", "report", "benchmark", "export", "bound", "minimize")),
    "Fleet": ("fleet", ("cluster", "worker")),
    "Models and devices": ("models", ("models", "inspect", "explain", "measure", "devices", "doctor")),
    "Settings": ("settings", ("placers", "config", "cache")),
}
"""Sections of the help, each with its folder and its commands."""

COMMANDS = {command: folder for folder, commands in SECTIONS.values() for command in commands}
"""The folder of each command."""

_EPILOG = (
    'Shell completion: eval "$(_OVPLACE_COMPLETE=bash_source ovplace)" in ~/.bashrc; zsh_source and fish_source for '
    "the other shells."
)


class _Lazy(click.Group):
    """Imports a command's file when the command is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the commands in the order in which they are met."""
        return list(COMMANDS)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands by section, below each other in all of them."""
        width = max(map(len, COMMANDS))
        for title, (_, names) in SECTIONS.items():
            loaded = [(name, self.get_command(ctx, name)) for name in names]
            with formatter.section(title):
                formatter.write_dl([(name.ljust(width), c.get_short_help_str(100)) for name, c in loaded if c])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command, None if there is none of that name."""
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"ovplace.cli.{COMMANDS[cmd_name]}.{cmd_name}")
        command: click.Command = module.command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return a command's name, the command and its arguments; where there is none, suggest the nearest."""
        name = args[0]
        if not name.startswith("-") and name not in COMMANDS:
            near = difflib.get_close_matches(name, COMMANDS, n=1)
            hint = f"; did you mean '{near[0]}'?" if near else ""
            raise click.UsageError(f"there is no command '{name}'{hint}", ctx)
        return super().resolve_command(ctx, args)


_CONTEXT = {"help_option_names": ["-h", "--help"], "show_default": True}


@click.group(cls=_Lazy, epilog=_EPILOG, context_settings=_CONTEXT)
@click.version_option(__version__, "-V", "--version", message="ovplace %(version)s")
@common
def group(**_: Any) -> None:
    """Find, by measuring, on which device each operation of a model should run under OpenVINO's HETERO plugin.

    Start with: ovplace optimize demo
    """


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and end the process with its exit code."""
    open_closed_streams()
    escape_missing_characters()
    choose_temporary_folder()
    without_telemetry()
    console = Console()
    with warnings.catch_warnings():
        warnings.simplefilter("always", ReportWarning)  # an error, where warnings are, would hide the result
        warnings.showwarning = lambda message, *_: console.log(f"Warning: {message}")
        code = exit_code(console, lambda: group.main(arguments, "ovplace", standalone_mode=False, obj=console))
    let_go_of_output()
    sys.exit(code)
