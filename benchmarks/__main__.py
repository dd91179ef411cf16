"""Run benchmarks: `python -m benchmarks list`, `python -m benchmarks run NAME`, `python -m benchmarks short`."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import click

from benchmarks import script
from benchmarks.searches import suite_file
from ovplace.errors import OvplaceError


@click.group(help=__doc__)
def main() -> None:
    pass


@main.command("list")
def list_names() -> None:
    """List the suites and scripts with their titles."""
    for name, file in suite_file.suite_files().items():
        click.echo(f"suites     {name:20} {suite_file.title(file)}")
    for name, file in script.script_files().items():
        click.echo(f"{file.parent.name:10} {name:20} {script.title(file)}")


@main.command()
@click.argument("name")
@click.option("--short", is_flag=True, help="A small part of it, in seconds.")
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="NAME=VALUE",
    help="Change an option of a script, or a setting of all variants of a suite; repeatable.",
)
@click.option(
    "--only", default="*", metavar="PATTERN", help="Suites: run now only what fits VARIANT/MODEL/MACHINE/SEED."
)
@click.option("--jobs", type=click.IntRange(min=1), default=lambda: os.cpu_count() or 1, help="Suites: runs at a time.")
@click.option("--cells", type=click.Path(path_type=Path), help="Suites: folder of the runs; runs/benchmarks/NAME.")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Also write the tables as JSON into this folder.")
def run(
    name: str, short: bool, settings: tuple[str, ...], only: str, jobs: int, cells: Path | None, output: Path | None
) -> None:
    """Run the suite or script NAME, or the suite in a TOML file, and print its tables; one that was stopped goes on."""
    from benchmarks.report import publish

    suites, scripts = suite_file.suite_files(), script.script_files()
    if name.endswith(".toml") and Path(name).is_file():
        suites, name = {Path(name).stem: Path(name)}, Path(name).stem
    if name not in suites and name not in scripts:
        raise click.UsageError(f"there is no benchmark '{name}'; there are {', '.join([*suites, *scripts])}")
    if name in scripts and only != "*":
        raise click.UsageError(f"--only chooses runs of a suite, and '{name}' is a script; --set changes its options")
    try:
        if name in scripts:
            publish([script.run_script(scripts[name], short, settings)], output)
        else:
            from benchmarks.searches.suite import run_suite

            folder = cells or Path("runs/benchmarks") / (f"{name}-short" if short else name)
            publish(run_suite(suites[name], folder, jobs, short=short, only=only, settings=settings), output)
    except script.UnavailableError as reason:
        click.echo(f"skipped: {reason}")
    except OvplaceError as error:
        click.echo(f"Error: {error}", err=True)
        sys.exit(error.exit_code)


@main.command()
@click.argument("name")
@click.argument("files", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), help="Also write both tables as JSON into this folder."
)
def controls(name: str, files: tuple[Path, ...], output: Path | None) -> None:
    """Print the raw results in FILES of the suite NAME together, what they came to, and variants against controls."""
    from benchmarks.report import publish
    from benchmarks.searches.controls import controls_table, places_tables, stored_searches

    suites = suite_file.suite_files()
    if name not in suites:
        raise click.UsageError(f"there is no suite '{name}'; there are {', '.join(suites)}")
    suite, _, _ = suite_file.read_suite(suites[name], short=False)
    searches = stored_searches(suite, name, files)
    publish([searches, *places_tables(suite, name, searches), controls_table(suite, name, searches)], output)


@main.command()
def short() -> None:
    """Run a small part of every suite and script; exit with 1 if one fails."""
    names = [*suite_file.suite_files(), *script.script_files()]
    failed = [name for name in names if not _run_short(name)]
    if failed:
        click.echo(f"failed: {', '.join(failed)}", err=True)
        sys.exit(1)


def _run_short(name: str) -> bool:
    """Run a small part of a benchmark in a process of its own; return whether it worked."""
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as cells:
        call = [sys.executable, "-m", "benchmarks", "run", name, "--short", "--cells", cells]
        done = subprocess.run(call, capture_output=True, text=True, check=False)
    skipped = done.stdout.startswith("skipped")
    word = "failed" if done.returncode else done.stdout.strip() if skipped else "ok"
    click.echo(f"{name:20} {time.monotonic() - start:5.1f} s  {word}")
    if done.returncode:
        click.echo(done.stdout[-2000:] + done.stderr[-2000:], err=True)
    return not done.returncode


if __name__ == "__main__":
    main()
