"""The option of commands that run a finished search's model on the inputs of that search, or on others."""

from __future__ import annotations

import click

from ovplace.cli.arguments.options import completes_path

input_option = click.option(
    "-i",
    "--input",
    "input_path",
    metavar="FILE.npz",
    default="",
    shell_complete=completes_path,
    show_default="the run's",
    help="One array for each input.",
)
