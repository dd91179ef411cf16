"""The same search for each of several models: a failing one stops no other, and the same call goes on."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ovplace.config.schema import RunConfig
from ovplace.core.result.run_result import RunResult
from ovplace.errors import InterruptedRunError, ReportWarning, UsageError
from ovplace.experiments.execute import execute
from ovplace.experiments.folder_names import folder_name
from ovplace.experiments.grid import Cell
from ovplace.experiments.task import Task
from ovplace.session.events import Listener, Progress, silent
from ovplace.store.run_folder import RunFolder


@dataclass(frozen=True)
class ModelSearch:
    """The search for one model.

    Attributes:
        model: its file.
        folder: the run folder.
        result: None if the search failed.
        error: why it failed; empty if it did not.
    """

    model: str
    folder: Path
    result: RunResult | None
    error: str


def run_folders(models: Sequence[str], out: Path) -> list[Path]:
    """Return a folder in `out` for each model: its name, with as much of its path as tells it from the others.

    Args:
        models: their files.
        out: folder of the run folders.

    Raises:
        UsageError: a model is named twice.
    """
    paths = [Path(model).absolute() for model in models]
    for i, path in enumerate(paths):
        if path in paths[:i]:
            raise UsageError(f"the model '{models[i]}' is named twice; name each once")
    return [out / name for name in next(names for names in _forms(paths) if _distinct(names))]


def _forms(paths: Sequence[Path]) -> Iterator[list[str]]:
    """Yield names for all, longer and longer; last those that differ by a number, for file systems that ignore case."""
    yield [folder_name(path.stem) for path in paths]
    for depth in range(1, max(len(path.parts) for path in paths) + 1):
        yield [folder_name("-".join(path.parts[-depth:])) for path in paths]
    yield [f"{number}-{folder_name(path.stem)}" for number, path in enumerate(paths, start=1)]


def _distinct(names: Sequence[str]) -> bool:
    return all(names) and len({name.lower() for name in names}) == len(names)


def search_models(
    configs: Mapping[Path, RunConfig], jobs: int, command: str = "", listener: Listener = silent
) -> list[ModelSearch]:
    """Search for each model in a process of its own; finished runs are read, stopped ones go on.

    Args:
        configs: by run folder, what to search.
        jobs: searches at the same time, where they are simulated or a fleet measures.
        command: the command line to note in the results.
        listener: called for each search that ends.

    Raises:
        InterruptedRunError: Ctrl-C; the same call goes on.

    Warns:
        ReportWarning: a search has ended, and its report could not be written.
    """
    cells = [_cell(folder, config) for folder, config in configs.items()]
    errors: dict[Path, str] = {}

    def ended(cell: Cell, error: str) -> None:
        errors[cell.folder] = error
        listener(Progress("models", len(errors), len(cells), f"{cell.model}{error and ': '}{error}"))

    listener(Progress("models", 0, len(cells), f"{len(cells)} searches"))
    task = replace(_SEARCH, options={"command": command})
    try:
        execute(cells, task, jobs, ended)
    except KeyboardInterrupt as error:
        raise InterruptedRunError(
            f"stopped; {len(errors)} of {len(cells)} searches have ended, the same command goes on"
        ) from error
    _check_reports([cell for cell in cells if not errors[cell.folder]])
    return [_search(cell, errors[cell.folder]) for cell in cells]


def search_one(config: RunConfig, folder: Path, options: Mapping[str, object]) -> None:
    """Run, or continue, the search for one model, and leave its report.

    Args:
        config: configuration of the run.
        folder: the run folder.
        options: `command`, the command line to note in the result.

    Raises:
        OvplaceError: the search failed; the text says why.
    """
    from ovplace.report.write import try_report
    from ovplace.search.run import run

    run(config, folder, command=str(options["command"]))
    try_report(folder)  # `search_models` says where that failed


def _check_reports(cells: Sequence[Cell]) -> None:
    """Warn of reports that the processes of finished searches could not write, nor can this one."""
    from ovplace.report.write import try_report

    for cell in cells:
        if problem := try_report(cell.folder):
            warnings.warn(problem, ReportWarning, stacklevel=3)


def _read(folder: Path) -> RunResult:
    return RunFolder(folder).read_result()


_SEARCH: Task[RunResult] = Task(f"{__name__}:search_one", _read)


def _cell(folder: Path, config: RunConfig) -> Cell:
    simulated = config.plugins.backend.factory.simulated
    return Cell("", folder.name, "", config.search.seed, folder, config, simulated)


def _search(cell: Cell, error: str) -> ModelSearch:
    result = None if error else _SEARCH.read(cell.folder)
    return ModelSearch(cell.config.search.model, cell.folder, result, error)
