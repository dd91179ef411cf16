"""`ovplace minimize`: a failed trial reduced to the smallest cut that fails as it did."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ovplace.cli.arguments import options
from ovplace.cli.output.console import Console
from ovplace.cli.results.input_option import input_option

if TYPE_CHECKING:
    from ovplace.commands.minimizing.minimize import Minimized


@click.command(short_help="Reduce a failed trial to a small model that fails, too.")
@options.run
@click.argument("trial", metavar="TRIAL", type=click.IntRange(min=0))
@click.option(
    "-o",
    "--output",
    metavar="DIR",
    shell_complete=options.completes_path,
    help="Folder to write into; by default trial-TRIAL in the current folder.",
)
@click.option(
    "--runs",
    "most",
    type=click.IntRange(min=4),
    default=200,
    show_default=True,
    help="Largest number of placements to run.",
)
@input_option
@options.as_json
@options.common
@click.pass_obj
def command(
    console: Console, run: str, trial: int, output: str | None, most: int, input_path: str, as_json: bool
) -> None:
    """Reduce the failed trial TRIAL of the folder RUN to the smallest cut that fails as it did, such as by a crash.

    The cut is written as a model of its own, with its inputs, a report, and a program that shows the failure with
    OpenVINO and NumPy alone; only on the emulated GPU does it need ovplace as well.
    """
    from ovplace.cli.output.tables import show_json
    from ovplace.commands.minimizing.minimize import minimize
    from ovplace.progress import listening

    with listening(console) as listener:
        found = minimize(Path(run), trial, Path(output or f"trial-{trial}"), listener, most, input_path)
    if as_json:
        show_json(found.to_json())
    else:
        _show(found)


def _show(found: Minimized) -> None:
    from ovplace.cli.output.tables import show_pairs

    names = list(found.moved)
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    show_pairs(
        [
            ("failure", f"{found.kind}: {found.text}"),
            ("off " + found.home, f"{len(names)} of {found.moved_before} operations: {', '.join(names[:5])}{more}"),
            ("model", f"{found.ops} of {found.ops_before} operations"),
            ("placements run", str(found.runs) + ("" if found.is_smallest else ", all that --runs allows")),
            ("program", f"{found.folder / 'reproduce.py'} {'shows it' if found.shown else 'does not show it'}"),
        ]
    )
