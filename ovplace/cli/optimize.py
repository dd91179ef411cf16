"""`ovplace optimize`: the search."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ovplace.cli.arguments import options
from ovplace.cli.output.console import Console

if TYPE_CHECKING:
    from ovplace.core.result import RunResult


@click.command(short_help="Find the fastest placement of a model.")
@options.model
@options.measuring
@options.searching
@options.rigorous
@click.option("-o", "--output", metavar="DIR", help="Run folder; runs/<model name> by default. One run is continued.")
@options.configuring
@click.option("--dry-run", is_flag=True, help="Say what would be measured, and roughly how long it takes.")
@options.as_json
@options.common
@click.pass_obj
def command(
    console: Console,
    /,
    model: str,
    output: str | None,
    rigorous: bool,
    config_file: str | None,
    settings: tuple[str, ...],
    dry_run: bool,
    as_json: bool,
    **search: Any,
) -> None:
    """Find on which device each operation of MODEL should run, and leave the files of the answer in a folder.

    MODEL is of any format that OpenVINO reads. A stopped run goes on where it was when the same command is given again.
    """
    from ovplace.cli.arguments.data_files import config_path
    from ovplace.cli.arguments.model_path import checked
    from ovplace.config.schema import RIGOROUS_ROUNDS

    if rigorous:
        settings = (*settings, f"comparison.rounds={RIGOROUS_ROUNDS}")
    folder = Path(output or Path("runs") / Path(model).stem)
    path, options_given, file = checked(model), options.given(search), config_path(config_file)
    if dry_run:
        from ovplace.cli.output.dry_run import show_estimate
        from ovplace.session.configure import effective

        show_estimate(console, effective(file, settings, {"model": path, **options_given}, folder), as_json)
        return
    arguments = {"settings": settings, "config_file": file, **options_given}
    _run(console, path, folder, arguments, as_json)


def _run(console: Console, model: str, folder: Path, arguments: dict[str, Any], as_json: bool) -> None:
    from ovplace import api
    from ovplace.cli.output.progress import listening
    from ovplace.errors import NotReachedError
    from ovplace.store.run_folder import RunFolder

    going_on = f"continuing the run in '{folder}'" if RunFolder(folder).has_begun else ""
    try:
        with listening(console, going_on) as listener:
            command = shlex.join(["ovplace", *sys.argv[1:]])
            result = api.optimize(model, folder, listener=listener, command=command, **arguments)
    except NotReachedError as error:
        # The run is finished all the same: its result is shown before the exit code says what it lacks.
        _show(error.result, as_json)
        raise
    _show(result, as_json)


def _show(result: RunResult, as_json: bool) -> None:
    from ovplace.cli.output.result import show_result
    from ovplace.cli.output.tables import show_json

    if as_json:
        show_json(result.to_json())
    else:
        show_result(result)
