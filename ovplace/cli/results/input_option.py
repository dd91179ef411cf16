"""The option of commands that run a finished search's model on the inputs of that search, or on others."""

from __future__ import annotations

import click

input_option = click.option(
    "-i",
    "--input",
    "input_path",
    metavar="FILE.npz",
    default="",
    show_default="the run's",
    help="One array for each input.",
)
