"""`ovplace ablate`: the same searches with one thing changed at a time."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

import click

from ovplace.cli.arguments import options
from ovplace.cli.output.console import Console

Data = dict[str, Any]


@click.command(short_help="Compare variants of a search over seeds.")
@click.argument("config", shell_complete=options.completes_file("configs/ablations"))
@click.option(
    "-o",
    "--output",
    metavar="DIR",
    shell_complete=options.completes_path,
    help="Folder of the runs; runs/ablations/<name> by default.",
)
@options.jobs
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="SECTION.KEY=VALUE",
    help="Change a setting of the base that all variants share; may be repeated.",
)
@click.option(
    "--only",
    metavar="PATTERN",
    help="Run only what matches VARIANT/MODEL/MACHINE/SEED, where * stands for anything; all by default.",
)
@options.cluster
@click.option("--table-only", is_flag=True, help="Run nothing; show what is finished.")
@options.as_json
@options.common
@click.pass_obj
def command(
    console: Console,
    /,
    config: str,
    output: str | None,
    jobs: int,
    settings: tuple[str, ...],
    only: str | None,
    cluster: str | None,
    table_only: bool,
    as_json: bool,
) -> None:
    """Run each variant in CONFIG on all its models and machines with all seeds, and compare the variants.

    CONFIG is a TOML file, or the name of one that comes with ovplace. Each run has a run folder, as with 'ovplace
    optimize'. The same command continues a stopped ablation; finished runs are not repeated.
    """
    from ovplace.errors import UsageError
    from ovplace.experiments.ablation import ablate, table
    from ovplace.experiments.catalogue import find_ablation
    from ovplace.experiments.grid import read_grid
    from ovplace.experiments.run_grid import selected
    from ovplace.progress import listening

    if only is not None and table_only:
        raise UsageError("--only chooses what to run, and --table-only runs nothing; leave one of them out")
    if cluster:
        settings = (*settings, f"search.cluster={cluster}")
    file = find_ablation(config)
    grid = read_grid(file, Path(output or Path("runs") / "ablations" / file.stem), settings)
    if table_only:
        _show(table(grid), as_json)
        return
    with listening(console) as listener:
        data = ablate(grid, jobs, listener, only or "*")
    _show(data, as_json)
    _check(data, {str(cell.folder) for cell in selected(grid, only or "*")})


def _show(data: Data, as_json: bool) -> None:
    from ovplace.cli.output.tables import show_json, show_table
    from ovplace.cli.output.terminal import say
    from ovplace.experiments.markdown import failures, header, notes, tables

    if as_json:
        show_json(data)
        return
    columns = header(data)
    for title, rows in tables(data["cells"]):
        click.echo(f"{title}\n")
        show_table(columns, rows, right=range(6, len(columns)))
        click.echo()
    for line in notes(data):
        say(line)
    for line in failures(data):
        say(f"Failed: {line}")
    click.echo(f"\nFiles in {data['folder']}: ablation.md, ablation.json, a folder for each run that has begun")


def _check(data: Data, chosen: Collection[str]) -> None:
    """Raise what decides the exit code, by the runs in the folders `chosen`: those of an earlier call are shown only.

    Raises:
        OvplaceError: one has failed.
    """
    from ovplace.errors import OvplaceError

    failed = sum(run["status"] == "failed" for run in data["runs"] if run["folder"] in chosen)
    if failed:
        raise OvplaceError(f"{failed} of {len(chosen)} runs failed; the same command tries those again")
