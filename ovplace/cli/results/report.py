"""`ovplace report`: a run as a page, several side by side, or one while it runs."""

from __future__ import annotations

from pathlib import Path

import click

from ovplace.cli.arguments import options
from ovplace.cli.output.console import Console


@click.command(short_help="Write the report of a run as one HTML file, compare runs, or follow one.")
@click.argument("runs", metavar="RUN...", nargs=-1, required=True, shell_complete=options.completes_path)
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    shell_complete=options.completes_path,
    help="The HTML file; by default report.html in the folder RUN, or comparison.html here for several runs.",
)
@click.option("--live", is_flag=True, help="Follow RUN in a browser on this machine until Ctrl-C.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Port of --live; any free one by default.")
@options.common
@click.pass_obj
def command(console: Console, /, runs: tuple[str, ...], output: str | None, live: bool, port: int) -> None:
    """Write the report of the finished run in the folder RUN: one HTML file that needs no network.

    Several runs are compared on one page. RUN may also be the folder of an ablation, finished or not.
    """
    from ovplace.report.write import write_comparison, write_report

    folders, target = [Path(run) for run in runs], Path(output) if output else None
    if options.was_given("port") and not live:
        raise click.UsageError("--port needs --live; add it, or leave --port out")
    if live:
        if output:
            raise click.UsageError("--live writes no file; leave out -o")
        _follow(console, folders, port)
    elif len(folders) == 1:
        click.echo(str(write_report(folders[0], target)))
    else:
        click.echo(str(write_comparison(folders, target or Path("comparison.html"))))


def _follow(console: Console, folders: list[Path], port: int) -> None:
    from ovplace.report.live import Server

    if len(folders) > 1:
        raise click.UsageError("--live follows one RUN")
    with Server(folders[0], port) as server:
        click.echo(server.address)
        console.log("Ctrl-C ends")
        server.serve_forever()
