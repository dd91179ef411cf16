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
    from ovplace.config.schema import RunConfig
    from ovplace.core.result.run_result import RunResult


@click.command(short_help="Find the fastest placement of a model.")
@options.model
@options.measuring
@options.searching
@options.rigorous
@options.cluster
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

    MODEL is a file of any format that OpenVINO reads, or 'demo', which comes with ovplace. A stopped run goes on where
    it was when the same command is given again; that of a finished one shows its result, and a larger --budget or
    --time continues it.
    """
    from ovplace.api.model_file import find_model
    from ovplace.config.schema import RIGOROUS_ROUNDS
    from ovplace.session.configure import effective

    if rigorous:
        settings = (*settings, f"comparison.rounds={RIGOROUS_ROUNDS}")
    folder = Path(output or Path("runs") / Path(model).stem)
    config = effective(config_file, settings, {"model": find_model(model), **options.given(search)}, folder)
    if dry_run:
        from ovplace.cli.output.dry_run import show_estimate

        show_estimate(console, config, as_json)
        return
    _run(console, config, folder, as_json)


def _run(console: Console, config: RunConfig, folder: Path, as_json: bool) -> None:
    from ovplace.api.searching import search
    from ovplace.cli.output.result import show_result
    from ovplace.errors import NotReachedError
    from ovplace.progress import listening

    try:
        with listening(console) as listener:
            command = shlex.join(["ovplace", *sys.argv[1:]])
            result: RunResult = search(config, folder, listener, command)
    except NotReachedError as error:
        # The run is finished all the same: its result is shown before the exit code says what it lacks.
        show_result(error.result, as_json)
        raise
    show_result(result, as_json)
