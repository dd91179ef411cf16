"""`ovplace optimize`: the search, or one for each of several models."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import click

from ovplace.cli.arguments import options
from ovplace.cli.output.console import Console

if TYPE_CHECKING:
    from ovplace.config.schema import RunConfig
    from ovplace.core.result.run_result import RunResult

    Configs: TypeAlias = Mapping[Path, RunConfig]
    """What to search, by run folder."""


@click.command(short_help="Find the fastest placement of a model, or of each of several.")
@options.models
@options.measuring
@options.searching
@options.rigorous
@options.cluster
@options.jobs
@click.option(
    "-o",
    "--output",
    metavar="DIR",
    shell_complete=options.completes_path,
    help="Run folder; runs/<model name> by default. For several models, the folder of their run folders. A run that is "
    "already there is continued.",
)
@options.configuring
@click.option("--dry-run", is_flag=True, help="Say what would be measured, and roughly how long it takes.")
@options.as_json
@options.common
@click.pass_obj
def command(
    console: Console,
    /,
    models: tuple[str, ...],
    jobs: int,
    output: str | None,
    rigorous: bool,
    config_file: str | None,
    settings: tuple[str, ...],
    dry_run: bool,
    as_json: bool,
    **search: Any,
) -> None:
    """Find which device should run each operation of MODEL, and write the files of the answer into a folder.

    MODEL is a file of any format that OpenVINO reads, or 'demo', which comes with ovplace. The same command continues
    a stopped run and shows the result of a finished one; a larger --budget or --time continues a finished run.

    Several models are searched one after another; with --machine or --cluster, --jobs of them at the same time. All
    options apply to each search, including --time and --budget. No search starts if a model is missing; if a search
    fails, the others continue, and the exit code is 1.
    """
    from ovplace.api.model_file import find_model
    from ovplace.config.schema import RIGOROUS_ROUNDS
    from ovplace.session.configure import effective

    if rigorous:
        settings = (*settings, f"comparison.rounds={RIGOROUS_ROUNDS}")
    configs = {
        folder: effective(config_file, settings, {"model": find_model(model), **options.given(search)}, folder)
        for model, folder in zip(models, _folders(models, output), strict=True)
    }
    if options.was_given("jobs") and len(configs) == 1:
        console.log("note: --jobs is the number of models at the same time, and there is one")
    if dry_run:
        from ovplace.cli.output.dry_run import show_estimates

        show_estimates(console, list(configs.values()), as_json)
    elif len(configs) > 1:
        _search_each(console, configs, jobs, as_json)
    else:
        _search(console, *configs.popitem(), as_json)


def _folders(models: tuple[str, ...], output: str | None) -> list[Path]:
    if len(models) == 1:
        from ovplace.api.model_file import default_run_folder

        return [Path(output) if output else default_run_folder(models[0])]
    from ovplace.experiments.many_models import run_folders

    return run_folders(models, Path(output or "runs"))


def _search_each(console: Console, configs: Configs, jobs: int, as_json: bool) -> None:
    from ovplace.cli.output.many_models import check, show_searches
    from ovplace.experiments.many_models import search_models
    from ovplace.progress import listening

    with listening(console) as listener:
        found = search_models(configs, jobs, _command_line(), listener)
    show_searches(found, as_json)
    check(found, require_gain=any(config.search.require_gain for config in configs.values()))


def _search(console: Console, folder: Path, config: RunConfig, as_json: bool) -> None:
    from ovplace.api.searching import search
    from ovplace.cli.output.result import show_result
    from ovplace.errors import NotReachedError
    from ovplace.progress import listening

    try:
        with listening(console) as listener:
            result: RunResult = search(config, folder, listener, _command_line())
    except NotReachedError as error:
        # The run is finished all the same: its result is shown before the exit code says what it lacks.
        show_result(error.result, as_json)
        raise
    show_result(result, as_json)


def _command_line() -> str:
    return shlex.join(["ovplace", *sys.argv[1:]])
