"""The output on standard error: everything that is not the result."""

from __future__ import annotations

import sys
from contextlib import suppress
from dataclasses import dataclass

import click

from ovplace.cli.output.terminal import fitted


@dataclass
class Console:
    """Messages on standard error, as many as the options of the command ask for.

    Attributes:
        debug: a traceback for each error.
        verbosity: -1 errors only, 0 what matters, 1 each step.
    """

    debug: bool = False
    verbosity: int = 0

    def log(self, text: str, level: int = 0) -> None:
        """Write a line to standard error unless the user wants less.

        Args:
            text: the line.
            level: the least verbosity at which it is written.
        """
        if self.verbosity >= level:
            with suppress(OSError):  # a run goes on without the terminal it was started from
                click.echo(fitted(text, sys.stderr), err=True)
