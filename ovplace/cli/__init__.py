"""The command line: one command a file, loaded when it is called.

Results go to standard output, messages and progress to standard error. Exit codes: 0 done; 1 a known error; 2 usage;
3 finished without what was required; 130 interrupted, with everything measured saved.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from typing import Any

import click

from ovplace.cli.arguments.options import common
from ovplace.cli.errors import exit_code
from ovplace.cli.output.console import Console
from ovplace.version import __version__

COMMANDS = (
    "optimize", "measure", "inspect", "devices", "export", "bound", "ablate", "train", "models", "placers", "config",
    "cache",
)  # fmt: skip

_EPILOG = (
    'Shell completion: eval "$(_OVPLACE_COMPLETE=bash_source ovplace)" in ~/.bashrc; zsh_source and fish_source for '
    "the other shells."
)


class _Lazy(click.Group):
    """Imports a command's file when the command is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the commands in the order in which they are met."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command, None if there is none of that name."""
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = importlib.import_module(f"ovplace.cli.{cmd_name}").command
        return command


@click.group(cls=_Lazy, epilog=_EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, "-V", "--version", message="ovplace %(version)s")
@common
def group(**_: Any) -> None:
    """Find, by measuring, on which device each operation of a model should run under OpenVINO's HETERO plugin.

    Start with: ovplace optimize models/demo.xml
    """


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and end the process with its exit code."""
    console = Console()
    sys.exit(exit_code(console, lambda: group.main(arguments, "ovplace", standalone_mode=False, obj=console)))
